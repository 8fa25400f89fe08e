"""Checks of watches: each watcher receives every committed change once, in the order of versions, over all its connections."""

from __future__ import annotations

from collections.abc import Iterator

from linearizability.history import Event, History, Operation, WatchLog

TYPES = {"create": "ADDED", "update": "MODIFIED", "put": "MODIFIED", "delete": "DELETED"}


def problems(history: History) -> Iterator[str]:
    """Yields the problems with the events of a history's watchers."""
    for watching in history.watches:
        yield from (f"watcher {watching.name}: {error}" for error in watching.errors)
        yield from (f"watcher {watching.name}: {problem}" for problem in _sequence(watching))
        yield from (f"watcher {watching.name}: {problem}" for problem in _writes(watching, history.operations))
    for watching in history.watches[1:]:
        yield from _difference(history.watches[0], watching)
    yield from _late(history)


def lateness(history: History) -> float:
    """Returns the longest time from the answer to a write until the last watcher received its event."""
    return max((late for late, _ in _delays(history)), default=0.0)


def _sequence(watching: WatchLog) -> Iterator[str]:
    """Versions increase, and the events of each object are ADDED, MODIFIED and DELETED in a possible order."""
    before, existing = watching.after, dict[str, str]()
    for event in watching.events:
        if event.version <= before:
            yield f"version {event.version} came after {before}: {event}"
        before = event.version
        if (event.type == "ADDED") == (event.key in existing):
            yield f"{event.key} was {existing.get(event.key, 'absent')} before {event}"
        if event.type == "DELETED":
            existing.pop(event.key, None)
        else:
            existing[event.key] = event.value


def _writes(watching: WatchLog, operations: list[Operation]) -> Iterator[str]:
    """Every acknowledged write has one event with the same version; no write has two events."""
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
    """Answers to deletes have no version, so deletes are counted: as many as acknowledged, plus some with unknown outcome."""
    for key in {one.key for one in operations if _is_watched(one)}:
        deletions = sum(event.type == "DELETED" and event.key == key for event in events)
        outcomes = [one.outcome for one in operations if one.kind == "delete" and one.key == key]
        least, most = outcomes.count("ok"), outcomes.count("ok") + outcomes.count("unknown")
        if not least <= deletions <= most:
            yield f"{key} was deleted {least} to {most} times, but there are {deletions} events"


def _difference(first: WatchLog, second: WatchLog) -> Iterator[str]:
    events = {event.version: (event.type, event.key, event.value) for event in first.events}
    others = {event.version: (event.type, event.key, event.value) for event in second.events}
    until = min(first.reached, second.reached)
    different = sorted(at for at in events.keys() | others.keys() if at <= until and events.get(at) != others.get(at))
    for at in different[:3]:
        yield f"watchers {first.name} and {second.name} differ at version {at}: {events.get(at)} and {others.get(at)}"


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
