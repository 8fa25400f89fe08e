"""Checks of resourceVersions, which are strong and cheap: versions increase with real time, and each belongs to one write.

Versions count the writes of the whole store, so these checks also relate objects to each other, which the search over single
registers does not: a list must show all objects as of one version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from linearizability.history import Event, History, ObjectVersion, Operation


def problems(history: History) -> Iterator[str]:
    """Yields the problems with the versions of a history."""
    operations = [one for one in history.operations if one.outcome != "failed"]
    yield from _growing([one for one in operations if one.is_write or one.kind == "list"])
    for same in _grouped(operations):
        yield from _growing(same)
    yield from _values(history)
    for watching in history.watches[:1]:
        yield from _lists(operations, watching.events, after=watching.after)


def _growing(operations: list[Operation]) -> Iterator[str]:
    """An operation that begins after another one has ended reads at least its version, or writes a greater one."""
    versioned = [one for one in operations if one.version > 0]
    ended = sorted((one for one in versioned if one.end is not None), key=lambda one: one.end or 0.0)
    newest: Operation | None = None
    position = 0
    for operation in sorted(versioned, key=lambda one: one.start):
        while position < len(ended) and (ended[position].end or 0.0) < operation.start:
            if newest is None or ended[position].version > newest.version:
                newest = ended[position]
            position += 1
        if newest is not None and _is_older(operation, newest):
            yield f"version {operation.version} came after {newest.version}:\n    {newest}\n    {operation}"


def _grouped(operations: list[Operation]) -> Iterable[list[Operation]]:
    """Groups operations: those on one object; and the stale reads of one object from one server, which never go back."""
    groups: dict[object, list[Operation]] = defaultdict(list)
    for one in operations:
        if one.kind == "stale-get":
            groups[one.key, one.server].append(one)
        elif one.kind != "list":
            groups[one.key].append(one)
    return groups.values()


def _is_older(operation: Operation, before: Operation) -> bool:
    if operation.is_write and before.is_write:
        return operation.version <= before.version
    return operation.version < before.version


def _values(history: History) -> Iterator[str]:
    """Every value has one version wherever it appears, and its write began before it was read."""
    written = {one.value: one for one in history.operations if one.is_write and one.value is not None}
    known: dict[str, int] = {}
    for value, version, shown, until in _shown(history):
        if known.setdefault(value, version) != version:
            yield f"{value} has the versions {known[value]} and {version}: {shown}"
        author = written.get(value)
        if author is None or author.outcome in {"failed", "exists", "absent", "conflict"} or author.start > until:
            yield f"{value} was shown, but no write wrote it, or that write failed: {shown}\n    {author}"


def _shown(history: History) -> Iterator[tuple[str, int, object, float]]:
    for one in history.operations:
        until = float("inf") if one.end is None else one.end
        for seen in (one.items or {}).values():
            yield seen.value, seen.version, one, until
        if one.found is not None and one.version:
            yield one.found, one.version, one, until
        if one.is_write and one.kind != "delete" and one.outcome == "ok" and one.value and one.version:
            yield one.value, one.version, one, until
    for watching in history.watches:
        for event in watching.events:
            if event.type != "DELETED":
                yield event.value, event.version, event, event.time


def _lists(operations: Iterable[Operation], events: list[Event], *, after: int) -> Iterator[str]:
    """A list shows the state after all changes up to its version. (No object existed when the watch began.)"""
    last = events[-1].version if events else after
    lists = sorted((one for one in operations if one.kind == "list" and one.version <= last), key=lambda one: one.version)
    state: dict[str, ObjectVersion] = {}
    position = 0
    for listed in lists:
        while position < len(events) and events[position].version <= listed.version:
            _apply(state, events[position])
            position += 1
        if listed.items != state:
            yield f"a list does not show the state at its version:\n    {state}\n    {listed.items}\n    {listed}"


def _apply(state: dict[str, ObjectVersion], event: Event) -> None:
    if event.type == "DELETED":
        state.pop(event.key, None)
    else:
        state[event.key] = ObjectVersion(event.value, event.version)
