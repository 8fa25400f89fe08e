"""What a delete does to an object, as pure decisions: finalizers, marks, grace, generation."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from probate.api import deletion, propagation, timestamps
from probate.api.deletion import NOTHING, REMOVE, Habit, Policy, Wish
from support import doc_tables

NOW = 1_700_000_000.75
STAMP = "2023-11-14T22:13:20Z"  # that moment
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
LEGACY = ("CollectingGarbage", "GarbageCollectionInProgress")

SAID = {"nothing": None, **{one.value: one for one in Policy}}
CHOICES = doc_tables.table("deletion.md", "said")


def finalizers_of(cell: str) -> list[str]:
    return [] if cell == "none" else [cell.strip("`")]


def rows() -> list[Any]:
    """Each choice of the table: what is said, what is there, of which habit, and what is there afterwards."""
    found = []
    for said, before, *after in CHOICES:
        there = [[], [ORPHAN], [FOREGROUND]] if before == "any" else [finalizers_of(before)]
        for start, (habit, cell) in itertools.product(there, zip((Habit.BACKGROUND, Habit.ORPHAN), after, strict=True)):
            found.append(pytest.param(SAID[said], start, habit, finalizers_of(cell), id=f"{said} on {start}, {habit.value}"))
    return found


def test_table_of_finalizers_is_complete() -> None:
    assert len(rows()) == len(SAID) * 3 * 2 == 24


@pytest.mark.parametrize(("policy", "start", "habit", "expected"), rows())
class TestFinalizerThatADeleteChooses:
    def test_alone(self, policy: Policy | None, start: list[str], habit: Habit, expected: list[str]) -> None:
        assert deletion.finalizers_after(start, policy, habit) == expected

    def test_beside_those_of_others(self, policy: Policy | None, start: list[str], habit: Habit, expected: list[str]) -> None:
        others = ["a/x", "b/y"]
        assert deletion.finalizers_after([*others, *start], policy, habit) == [*others, *expected]

    def test_by_an_older_name(self, policy: Policy | None, start: list[str], habit: Habit, expected: list[str]) -> None:
        for name in LEGACY:
            old = [name if one == FOREGROUND else one for one in start]
            kept = [name if one == FOREGROUND else one for one in expected] if start == expected else expected
            assert deletion.finalizers_after(old, policy, habit) == kept

    def test_of_a_kind_that_owns_nothing(self, policy: Policy | None, start: list[str], habit: Habit, expected: list[str]) -> None:
        assert deletion.finalizers_after(["a/x", *start], policy, Habit.UNSUPPORTED) == ["a/x"]


@pytest.mark.parametrize("habit", [Habit.BACKGROUND, Habit.ORPHAN])
@pytest.mark.parametrize("start", [[], [ORPHAN], [FOREGROUND], ["CollectingGarbage"]], ids=str)
@pytest.mark.parametrize("orphan", [None, True, False])
def test_older_switch_chooses_like_the_policy_it_means(orphan: bool | None, start: list[str], habit: Habit) -> None:
    policy = propagation.policy({} if orphan is None else {"orphanDependents": orphan})
    after = deletion.finalizers_after(start, policy, habit)
    if orphan:
        assert after == [ORPHAN]
    elif orphan is False:
        assert after == []
    else:
        assert after == (start or ([ORPHAN] if habit is Habit.ORPHAN else []))


@pytest.mark.parametrize(
    ("start", "policy", "expected"),
    [
        (["b/y", ORPHAN, "a/x"], Policy.ORPHAN, ["b/y", ORPHAN, "a/x"]),  # the same set stays as it is
        ([FOREGROUND, "a/x", FOREGROUND], Policy.FOREGROUND, [FOREGROUND, "a/x", FOREGROUND]),
        ([FOREGROUND, "a/x"], Policy.ORPHAN, ["a/x", ORPHAN]),  # a new one comes last
        ([ORPHAN, FOREGROUND, "a/x"], None, ["a/x", ORPHAN]),  # of both, the first decides
        ([FOREGROUND, ORPHAN, "a/x"], None, ["a/x", FOREGROUND]),
    ],
)
def test_order_of_finalizers(start: list[str], policy: Policy | None, expected: list[str]) -> None:
    assert deletion.finalizers_after(start, policy, Habit.BACKGROUND) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (("", "v1", "ReplicationController"), Habit.ORPHAN),
        (("batch", "v1", "Job"), Habit.ORPHAN),
        (("batch", "v1beta1", "CronJob"), Habit.ORPHAN),
        (("batch", "v1", "CronJob"), Habit.BACKGROUND),
        (("apps", "v1", "ReplicaSet"), Habit.BACKGROUND),
        (("apps", "v1", "StatefulSet"), Habit.BACKGROUND),
        (("", "v1", "Event"), Habit.UNSUPPORTED),
        (("events.k8s.io", "v1", "Event"), Habit.UNSUPPORTED),
        (("example.com", "v1", "Event"), Habit.BACKGROUND),
        (("example.com", "v1", "Job"), Habit.BACKGROUND),
    ],
)
def test_habits(kind: tuple[str, str, str], expected: Habit) -> None:
    """What a delete does that does not say what becomes of the dependents. (GCP-1)"""
    assert deletion.habit(*kind) is expected


# --- objects that are no pods -----------------------------------------------------------------------------------------------


def delete(meta: dict[str, Any], policy: Policy | None = None, grace: int | None = None) -> deletion.Verdict:
    return deletion.decide(meta, Wish(policy, grace), Habit.BACKGROUND, NOW)


def test_object_that_nothing_holds_goes_unmarked() -> None:
    assert delete({"name": "a", "generation": 3}) == REMOVE
    assert delete({"name": "a", "finalizers": [ORPHAN]}, Policy.BACKGROUND) == REMOVE


def test_held_object_is_marked_in_whole_seconds_and_counts_that_as_a_change_of_what_is_wanted() -> None:
    verdict = delete({"name": "a", "generation": 3, "finalizers": ["a/x"]}, Policy.FOREGROUND, grace=40)
    marked = {"name": "a", "generation": 4, "deletionTimestamp": STAMP, "deletionGracePeriodSeconds": 0}
    assert verdict == ({**marked, "finalizers": ["a/x", FOREGROUND]}, False)


def test_kind_that_does_not_count_generations_does_not_begin_to() -> None:
    marked = delete({"name": "a", "finalizers": ["a/x"]}).metadata
    assert marked is not None
    assert "generation" not in marked


MARKED = {"name": "a", "generation": 4, "deletionTimestamp": "2023-11-14T22:00:00Z", "deletionGracePeriodSeconds": 0}


@pytest.mark.parametrize(
    ("finalizers", "policy", "expected"),
    [
        (["a/x"], None, ["a/x"]),
        (["a/x"], Policy.BACKGROUND, ["a/x"]),
        (["a/x"], Policy.FOREGROUND, ["a/x", FOREGROUND]),
        (["a/x"], Policy.ORPHAN, ["a/x", ORPHAN]),
        (["a/x", FOREGROUND], None, ["a/x", FOREGROUND]),
        (["a/x", FOREGROUND], Policy.BACKGROUND, ["a/x"]),
        (["a/x", FOREGROUND], Policy.ORPHAN, ["a/x", ORPHAN]),
        (["a/x", ORPHAN], Policy.FOREGROUND, ["a/x", FOREGROUND]),
    ],
)
def test_second_delete_may_ask_for_something_else_and_changes_nothing_besides(
    finalizers: list[str], policy: Policy | None, expected: list[str]
) -> None:
    verdict = delete({**MARKED, "finalizers": finalizers}, policy)
    assert verdict == (NOTHING if finalizers == expected else ({**MARKED, "finalizers": expected}, False))


@pytest.mark.parametrize("finalizers", [[FOREGROUND], [ORPHAN]])
def test_second_delete_in_the_background_lets_it_go(finalizers: list[str]) -> None:
    assert delete({**MARKED, "finalizers": finalizers}, Policy.BACKGROUND) == REMOVE


def test_time_of_deletion_that_lies_ahead_is_brought_to_now_without_counting_again() -> None:
    ahead = {**MARKED, "deletionTimestamp": "2023-11-14T23:00:00Z", "finalizers": ["a/x"]}
    assert delete(ahead) == ({**MARKED, "deletionTimestamp": STAMP, "finalizers": ["a/x"]}, False)


# --- pods -------------------------------------------------------------------------------------------------------------------


def pod(meta: dict[str, Any], *, node: str = "n", own: int | None = 30, phase: str = "Running") -> dict[str, Any]:
    spec = {**({"nodeName": node} if node else {}), **({} if own is None else {"terminationGracePeriodSeconds": own})}
    return {"metadata": meta, "spec": spec, "status": {"phase": phase}}


def delete_pod(meta: dict[str, Any], grace: int | None = None, policy: Policy | None = None, **about: Any) -> deletion.Verdict:
    return deletion.decide(meta, Wish(policy, grace), Habit.BACKGROUND, NOW, pod=pod(meta, **about))


def ending(seconds: float, grace: int) -> dict[str, Any]:
    """The mark of a pod that ends so many seconds from now."""
    return {"deletionTimestamp": timestamps.timestamp(NOW + seconds), "deletionGracePeriodSeconds": grace}


@pytest.mark.parametrize(
    ("asked", "own", "grace"),
    [(None, 30, 30), (None, None, 0), (None, 0, 0), (None, -5, 1), (-1, 30, 1), (0, 30, 0), (1, 30, 1), (2, 30, 2), (60, 30, 60)],
)
def test_first_delete_of_a_pod_gives_it_time(asked: int | None, own: int | None, grace: int) -> None:
    assert delete_pod({"name": "p"}, asked, own=own) == ({"name": "p", **ending(grace, grace)}, grace == 0)


@pytest.mark.parametrize("about", [{"node": ""}, {"phase": "Failed"}, {"phase": "Succeeded"}], ids=str)
def test_pod_that_nobody_runs_needs_no_time(about: dict[str, Any]) -> None:
    assert delete_pod({"name": "p"}, 40, **about) == ({"name": "p", **ending(0, 0)}, True)


MATRIX: dict[tuple[int, int], int | None] = {
    # (what it has, what is asked for): what it has then; None if nothing changes
    (-1, -1): None,
    (-1, 0): 0,
    (-1, 1): None,
    (-1, 2): None,
    (1, -1): None,
    (1, 0): 0,
    (1, 1): None,
    (1, 2): None,
    (2, -1): 1,
    (2, 0): 0,
    (2, 1): 1,
    (2, 2): None,
}


@pytest.mark.parametrize(("has", "asked"), MATRIX)
def test_grace_can_be_shortened_and_never_lengthened(has: int, asked: int) -> None:
    left = 10  # seconds that the pod has had already are not asked for again
    meta = {"name": "p", **ending(left + abs(has), has)}
    expected = MATRIX[has, asked]
    verdict = delete_pod(meta, asked)
    if expected is None:
        assert verdict == NOTHING
    else:
        assert verdict == ({"name": "p", **ending(left + expected, expected)}, expected == 0)


@pytest.mark.parametrize("asked", [None, -1, 0, 1, 2])
def test_pod_whose_time_is_over_goes_whatever_is_asked_for(asked: int | None) -> None:
    for meta in ({"name": "p", **ending(-5, 0)}, {"name": "p", "deletionTimestamp": STAMP}):
        assert delete_pod(meta, asked) == REMOVE


def test_delete_that_says_nothing_of_time_changes_nothing_not_even_finalizers() -> None:
    meta = {"name": "p", "finalizers": ["a/x"], **ending(30, 30)}
    assert delete_pod(meta, policy=Policy.FOREGROUND) == NOTHING


def test_shortening_asks_again_what_becomes_of_the_dependents() -> None:
    meta = {"name": "p", "finalizers": ["a/x", FOREGROUND], **ending(30, 30)}
    assert delete_pod(meta, 5, Policy.ORPHAN) == ({"name": "p", **ending(5, 5), "finalizers": ["a/x", ORPHAN]}, False)


@pytest.mark.parametrize(("asked", "grace"), [(5, 1), (1, 1), (-1, 1), (0, 0)])
def test_time_that_would_have_ended_in_the_past_ends_now(asked: int, grace: int) -> None:
    meta = {"name": "p", **ending(20, 60)}  # 40 of the 60 seconds are over
    assert delete_pod(meta, asked) == ({"name": "p", **ending(0, grace)}, grace == 0)


def test_held_pod_without_time_is_marked_and_stays() -> None:
    verdict = delete_pod({"name": "p", "finalizers": ["a/x"]}, 0)
    assert verdict == ({"name": "p", "finalizers": ["a/x"], **ending(0, 0)}, False)


def test_pod_loses_its_last_finalizer_and_goes_in_the_same_delete() -> None:
    meta = {"name": "p", "finalizers": [FOREGROUND], **ending(-1, 0)}
    assert delete_pod(meta, 0, Policy.BACKGROUND) == ({"name": "p", **ending(-1, 0)}, True)


def test_pod_with_time_left_loses_its_finalizers_and_stays() -> None:
    meta = {"name": "p", "finalizers": [FOREGROUND], **ending(30, 30)}
    assert delete_pod(meta, 20, Policy.BACKGROUND) == ({"name": "p", **ending(20, 20)}, False)


def test_generation_of_a_pod_counts_the_first_delete_alone() -> None:
    first = delete_pod({"name": "p", "generation": 1}).metadata
    assert first is not None
    assert first["generation"] == 2
    second = delete_pod(first, 10).metadata
    assert second is not None
    assert second["generation"] == 2
