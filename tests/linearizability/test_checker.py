"""The checker itself: histories known to be good or bad, and small ones compared with all possible orders."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability import history_checks
from linearizability.checker import Search, check
from linearizability.history import Event, History, Kind, ObjectVersion, Operation, Outcome, Plan, WatchLog
from linearizability.model import Impossible, State, step


def did(kind: Kind, start: float, end: float | None, outcome: Outcome = "ok", **fields: Any) -> Operation:
    return Operation(client="c", server=0, kind=kind, key="key-0", start=start, end=end, outcome=outcome, **fields)


def created(value: str, start: float, end: float, **fields: Any) -> Operation:
    return did("create", start, end, value=value, **fields)


def swapped(old: str, new: str, start: float, end: float | None, outcome: Outcome = "ok") -> Operation:
    return did("update", start, end, outcome, value=new, expected=ObjectVersion(old, 0))


def read(found: str | None, start: float, end: float) -> Operation:
    return did("get", start, end, found=found)


def result(*operations: Operation) -> str:
    return check(operations).result


def test_reads_during_a_write_may_see_either_value() -> None:
    assert result(created("a", 0, 1), swapped("a", "b", 2, 5), read("a", 3, 4), read("b", 4.2, 4.8)) == "linearizable"


def test_read_of_an_older_value_after_a_newer_one_is_found() -> None:
    assert result(created("a", 0, 1), swapped("a", "b", 2, 5), read("b", 3, 3.5), read("a", 4, 4.5)) == "violated"


def test_stale_read_is_found_and_explained() -> None:
    found = check([created("a", 0, 1), swapped("a", "b", 2, 3), read("a", 4, 5)])
    assert found.result == "violated"
    assert "[4.0000 .. 5.0000] c@0 get key-0 ok found=a" in found.explanation
    assert "the register then holds b" in found.explanation


def test_lost_update_is_found() -> None:
    assert result(created("a", 0, 1), swapped("a", "b", 2, 4), swapped("a", "c", 3, 5)) == "violated"
    assert result(created("a", 0, 1), swapped("a", "b", 2, 4), swapped("a", "c", 3, 5, "conflict")) == "linearizable"


def test_lost_acknowledged_write_is_found() -> None:
    assert result(created("a", 0, 1), read(None, 2, 3)) == "violated"


def test_concurrent_writes_may_happen_in_either_order() -> None:
    writes = [created("a", 0, 1), did("put", 2, 5, value="b"), did("put", 2, 5, value="c")]
    assert [result(*writes, read(last, 6, 7)) for last in ("b", "c", "a")] == ["linearizable", "linearizable", "violated"]


def test_write_with_unknown_outcome_may_happen_late_or_never_but_not_before_it_began() -> None:
    doubtful = did("put", 2, None, "unknown", value="b")
    first = created("a", 0, 1)
    assert result(first, doubtful, read("a", 3, 4), read("b", 90, 91)) == "linearizable"
    assert result(first, doubtful, read("a", 3, 4)) == "linearizable"
    assert result(first, doubtful, read("b", 3, 4), read("a", 5, 6)) == "violated"
    assert result(first, doubtful, read("b", 1.2, 1.5)) == "violated"


def test_write_with_unknown_outcome_explains_a_conflict() -> None:
    doubtful = did("put", 2, None, "unknown", value="b")
    assert result(created("a", 0, 1), swapped("a", "c", 3, 4, "conflict")) == "violated"
    assert result(created("a", 0, 1), doubtful, swapped("a", "c", 3, 4, "conflict")) == "linearizable"


def test_two_acknowledged_creates_without_a_delete_are_found() -> None:
    assert result(created("a", 0, 1), created("b", 0.5, 2)) == "violated"
    assert result(created("a", 0, 1), did("delete", 0.5, 2), created("b", 0.5, 2)) == "linearizable"


def test_search_that_takes_too_long_is_undecided() -> None:
    doubtful = [did("put", 1, None, "unknown", value=f"v{number}") for number in range(30)]
    operations = [created("a", 0, 0.5), *doubtful, read("nobody's", 50, 51)]
    assert Search(operations).run(configurations=2_000).result == "undecided"
    assert Search(operations).run(seconds=0.0).result == "undecided"


KINDS: dict[Kind, tuple[Outcome, ...]] = {
    "get": ("ok",),
    "decision": ("ok", "absent"),
    "create": ("ok", "exists", "unknown"),
    "update": ("ok", "absent", "conflict", "unknown"),
    "put": ("ok", "absent", "unknown"),
    "delete": ("ok", "absent", "unknown"),
}
VALUES = ("a", "b", "c")


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    kind = draw(st.sampled_from(sorted(KINDS)))
    outcome = draw(st.sampled_from(KINDS[kind]))
    start = draw(st.integers(0, 12))
    end = None if outcome == "unknown" else start + draw(st.integers(1, 8))
    fields: dict[str, Any] = {}
    if kind in {"create", "update", "put"}:
        fields["value"] = draw(st.sampled_from(VALUES))
    if kind == "update" or (kind == "delete" and draw(st.booleans())):
        fields["expected"] = ObjectVersion(draw(st.sampled_from(VALUES)), 0)
    if kind == "get":
        fields["found"] = draw(st.sampled_from((*VALUES, None)))
    return did(kind, start, end, outcome, **fields)


@st.composite
def executions(draw: st.DrawFn) -> list[Operation]:
    """Draws what a correct register might answer, with some unknown outcomes; in some cases one answer is drawn freely."""
    state: State = None
    history: list[Operation] = []
    for moment in range(draw(st.integers(1, 6))):
        kind: Kind = draw(st.sampled_from(("put", "put", "update", "get", "get", "delete"))) if state else "create"
        outcome: Outcome = "unknown" if kind != "get" and draw(st.integers(0, 5)) == 0 else "ok"
        start, end = moment - draw(st.integers(0, 6)), moment + draw(st.integers(0, 6))
        expected = ObjectVersion(state, 0) if kind == "update" and state else None
        done = did(kind, start, end, outcome, value=f"v{moment}", found=state, expected=expected)
        after = step(state, done)
        assert not isinstance(after, Impossible)
        history.append(done)
        state = after
    if draw(st.booleans()):
        history[draw(st.integers(0, len(history) - 1))] = draw(operations())
    return history


def is_explained(order: Sequence[Operation]) -> bool:
    """Returns whether this order respects real time and the model."""
    state: State = None
    for number, operation in enumerate(order):
        if any(later.outcome != "unknown" and (later.end or 0) < operation.start for later in order[number + 1 :]):
            return False
        after = step(state, operation)
        if isinstance(after, Impossible):
            return False
        state = after
    return True


def by_brute_force(history: list[Operation]) -> bool:
    """Returns whether any order of the required operations, with any subset of the optional ones, explains the history."""
    doubtful = [one for one in history if one.outcome == "unknown"]
    certain = [one for one in history if one.outcome != "unknown"]
    chosen = itertools.chain.from_iterable(itertools.combinations(doubtful, many) for many in range(len(doubtful) + 1))
    return any(is_explained(order) for extra in chosen for order in itertools.permutations([*certain, *extra]))


@settings(max_examples=300)
@given(st.lists(operations(), max_size=5) | executions())
def test_verdict_equals_that_of_trying_all_orders(history: list[Operation]) -> None:
    assert result(*history) == ("linearizable" if by_brute_force(history) else "violated")


def history_of(*done: Operation, events: Sequence[Event] = (), **fields: Any) -> History:
    """Returns a history with one watcher that received these events, if any."""
    plan = Plan(0, 1.0, 1, 1, [])
    watches = [WatchLog(name="w", after=1, reached=99, events=list(events))] if events else []
    complete = {"rights_bound": 0.0, "watch_bound": 1.0, **fields}
    return History(target="known", plan=plan, operations=list(done), watches=watches, **complete)


def event(type_: str, value: str, version: int, time: float) -> Event:
    return Event(type_, "key-0", value, version, time)


FIRST = created("a", 0, 1, version=5)
SECOND = msgspec.structs.replace(swapped("a", "b", 2, 3), version=7)


def test_good_history_with_a_watch_has_no_problems() -> None:
    history = history_of(FIRST, SECOND, events=[event("ADDED", "a", 5, 1.1), event("MODIFIED", "b", 7, 3.1)])
    assert history_checks.problems(history) == []


def test_decreasing_versions_are_found() -> None:
    history = history_of(FIRST, msgspec.structs.replace(SECOND, version=4))
    assert "version 4 came after 5" in history_checks.problems(history)[0]


def test_missing_repeated_late_or_invented_event_is_found() -> None:
    good = [event("ADDED", "a", 5, 1.1), event("MODIFIED", "b", 7, 3.1)]
    bad = {
        "has no event": good[:1],
        "two events": [*good, event("MODIFIED", "b", 8, 3.2)],
        "came after": [*good, good[1]],
        "no write wrote it": [*good, event("MODIFIED", "x", 8, 3.2)],
        "after its write was answered": [good[0], event("MODIFIED", "b", 7, 9.0)],
    }
    for told, events in bad.items():
        assert told in "\n".join(history_checks.problems(history_of(FIRST, SECOND, events=events)))


def test_watchers_that_see_different_changes_are_found() -> None:
    history = history_of(FIRST, events=[event("ADDED", "a", 5, 1.1)])
    history.operations.append(did("put", 2, None, "unknown", value="b"))
    history.watches.append(
        WatchLog(name="v", after=1, reached=99, events=[*history.watches[0].events, event("MODIFIED", "b", 6, 3)])
    )
    assert "watchers w and v differ at version 6" in "\n".join(history_checks.problems(history))


def test_list_that_mixes_two_versions_is_found_even_if_each_object_is_possible() -> None:
    other = msgspec.structs.replace(created("x", 0, 9, version=6), key="key-1")
    slow = msgspec.structs.replace(SECOND, end=9)
    events = [event("ADDED", "a", 5, 1.1), Event("ADDED", "key-1", "x", 6, 8), event("MODIFIED", "b", 7, 8)]
    listed = did("list", 4, 5, version=7, items={"key-0": ObjectVersion("b", 7)})
    assert "a list does not show" in "\n".join(history_checks.problems(history_of(FIRST, slow, other, listed, events=events)))


def decided(is_allowed: bool, start: float) -> Operation:
    return Operation(
        client="r",
        server=0,
        kind="decision",
        key="right/ann",
        start=start,
        end=start + 0.1,
        outcome="ok" if is_allowed else "absent",
    )


def test_permission_applied_longer_than_its_bound_is_found() -> None:
    granted = msgspec.structs.replace(created("g", 0, 1), key="right/ann")
    revoked = msgspec.structs.replace(did("delete", 2, 3), key="right/ann")
    within = history_of(granted, revoked, decided(True, 6), decided(False, 7), rights_bound=5.0)
    assert history_checks.problems(within) == []
    for late, bound in ((8.5, 5.0), (3.5, 0.0)):
        assert (
            "right/ann: violated"
            in history_checks.problems(history_of(granted, revoked, decided(True, late), rights_bound=bound))[0]
        )


def test_saved_history_is_checked_again(tmp_path: Any) -> None:
    from linearizability.history import load  # noqa: PLC0415

    path = history_of(FIRST, msgspec.structs.replace(SECOND, version=4)).save(tmp_path / "h.json")
    assert history_checks.problems(load(path)) == history_checks.problems(
        history_of(FIRST, msgspec.structs.replace(SECOND, version=4))
    )
