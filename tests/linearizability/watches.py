"""Checks of watches: each watcher sees every committed change once, in the order of versions, over all its connections."""

from __future__ import annotations

from collections.abc import Iterator

from linearizability.history import Event, History, Operation, Watching

TYPES = {"create": "ADDED", "update": "MODIFIED", "put": "MODIFIED", "delete": "DELETED"}


def problems(history: History) -> Iterator[str]:
    """What is wrong with what the watchers of a history saw."""
    for watching in history.watches:
        yield from (f"watcher {watching.name}: {error}" for error in watching.errors)
        yield from (f"watcher {watching.name}: {problem}" for problem in _sequence(watching))
        yield from (f"watcher {watching.name}: {problem}" for problem in _writes(watching, history.operations))
    for watching in history.watches[1:]:
        yield from _difference(history.watches[0], watching)
    yield from _late(history)


def lateness(history: History) -> float:
    """The longest time from the answer to a write until the last watcher had its event."""
    return max((late for late, _ in _delays(history)), default=0.0)


def _sequence(watching: Watching) -> Iterator[str]:
    """Versions grow, and each object is added, modified and deleted in turn."""
    before, there = watching.after, dict[str, str]()
    for event in watching.events:
        if event.version <= before:
            yield f"version {event.version} came after {before}: {event}"
        before = event.version
        if (event.type == "ADDED") == (event.key in there):
            yield f"{event.key} was {there.get(event.key, 'absent')} before {event}"
        if event.type == "DELETED":
            there.pop(event.key, None)
        else:
            there[event.key] = event.value


def _writes(watching: Watching, operations: list[Operation]) -> Iterator[str]:
    """Every acknowledged write has its event, with the same version; no write has two, and no other has any."""
    by_version = {event.version: event for event in watching.events}
    for write in operations:
        if write.is_write and write.outcome == "ok" and write.version and _is_watched(write):
            event = by_version.get(write.version)
            if event is None or (event.type, event.key) != (TYPES[write.kind], write.key):
                yield f"an acknowledged write has no event, but {event}:\n    {write}"
    yield from _deletions(watching.events, operations)
    values = [event.value for event in watching.events if event.type != "DELETED"]
    if len(values) != len(set(values)):
        yield "one write has two events"


def _deletions(events: list[Event], operations: list[Operation]) -> Iterator[str]:
    """Answers to deletions have no version, so these are counted: as many as acknowledged, or more by those in doubt."""
    for key in {one.key for one in operations if _is_watched(one)}:
        seen = sum(event.type == "DELETED" and event.key == key for event in events)
        told = [one.outcome for one in operations if one.kind == "delete" and one.key == key]
        least, most = told.count("ok"), told.count("ok") + told.count("unknown")
        if not least <= seen <= most:
            yield f"{key} was deleted {least} to {most} times, but {seen} events say so"


def _difference(one: Watching, other: Watching) -> Iterator[str]:
    ours = {event.version: (event.type, event.key, event.value) for event in one.events}
    theirs = {event.version: (event.type, event.key, event.value) for event in other.events}
    until = min(one.reached, other.reached)
    different = sorted(at for at in ours.keys() | theirs.keys() if at <= until and ours.get(at) != theirs.get(at))
    for at in different[:3]:
        yield f"watchers {one.name} and {other.name} differ at version {at}: {ours.get(at)} and {theirs.get(at)}"


def _late(history: History) -> Iterator[str]:
    if history.watch_bound is None:
        return
    for late, event in _delays(history):
        if late > history.watch_bound:
            yield f"an event came {late:.2f} s after its write was answered, of at most {history.watch_bound}: {event}"
            return


def _delays(history: History) -> Iterator[tuple[float, Event]]:
    answered = {one.version: one.end for one in history.operations if one.is_write and one.version and one.end is not None}
    for watching in history.watches:
        for event in watching.events:
            if event.version in answered:
                yield event.time - answered[event.version], event


def _is_watched(operation: Operation) -> bool:
    return not operation.key.startswith("right/")
