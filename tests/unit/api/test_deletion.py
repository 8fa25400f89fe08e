"""The decision what a delete does to an object: finalizers, deletion marks, grace period, generation."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from probate.api import deletion, propagation, timestamps
from probate.api.deletion import NO_CHANGE, REMOVE, DefaultPropagation, DeletionRequest, PropagationPolicy
from support import doc_tables

NOW = 1_700_000_000.75
STAMP = "2023-11-14T22:13:20Z"  # that moment
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
LEGACY = ("CollectingGarbage", "GarbageCollectionInProgress")

POLICIES = {"none": None, **{one.value: one for one in PropagationPolicy}}
CHOICES = doc_tables.read_table("deletion.md", "policy")


def finalizers_of(cell: str) -> list[str]:
    return [] if cell == "none" else [cell.strip("`")]


def rows() -> list[Any]:
    """Returns a case for each cell of the table: policy, finalizers before, the kind's default, finalizers after."""
    found = []
    for said, before, *after in CHOICES:
        there = [[], [ORPHAN], [FOREGROUND]] if before == "any" else [finalizers_of(before)]
        for start, (default, cell) in itertools.product(
            there, zip((DefaultPropagation.BACKGROUND, DefaultPropagation.ORPHAN), after, strict=True)
        ):
            found.append(
                pytest.param(POLICIES[said], start, default, finalizers_of(cell), id=f"{said} on {start}, {default.value}")
            )
    return found


def test_table_of_finalizers_is_complete() -> None:
    assert len(rows()) == len(POLICIES) * 3 * 2 == 24


@pytest.mark.parametrize(("policy", "start", "default", "expected"), rows())
class TestFinalizerThatADeleteChooses:
    def test_alone(
        self, policy: PropagationPolicy | None, start: list[str], default: DefaultPropagation, expected: list[str]
    ) -> None:
        assert deletion.finalizers_after(start, policy, default) == expected

    def test_with_other_finalizers(
        self, policy: PropagationPolicy | None, start: list[str], default: DefaultPropagation, expected: list[str]
    ) -> None:
        others = ["a/x", "b/y"]
        assert deletion.finalizers_after([*others, *start], policy, default) == [*others, *expected]

    def test_by_an_older_name(
        self, policy: PropagationPolicy | None, start: list[str], default: DefaultPropagation, expected: list[str]
    ) -> None:
        for name in LEGACY:
            old = [name if one == FOREGROUND else one for one in start]
            kept = [name if one == FOREGROUND else one for one in expected] if start == expected else expected
            assert deletion.finalizers_after(old, policy, default) == kept

    def test_of_a_kind_that_cannot_own(
        self, policy: PropagationPolicy | None, start: list[str], default: DefaultPropagation, expected: list[str]
    ) -> None:
        assert deletion.finalizers_after(["a/x", *start], policy, DefaultPropagation.UNSUPPORTED) == ["a/x"]


@pytest.mark.parametrize("default", [DefaultPropagation.BACKGROUND, DefaultPropagation.ORPHAN])
@pytest.mark.parametrize("start", [[], [ORPHAN], [FOREGROUND], ["CollectingGarbage"]], ids=str)
@pytest.mark.parametrize("orphan", [None, True, False])
def test_orphan_dependents_acts_like_the_policy_it_means(
    orphan: bool | None, start: list[str], default: DefaultPropagation
) -> None:
    policy = propagation.policy_of({} if orphan is None else {"orphanDependents": orphan})
    after = deletion.finalizers_after(start, policy, default)
    if orphan:
        assert after == [ORPHAN]
    elif orphan is False:
        assert after == []
    else:
        assert after == (start or ([ORPHAN] if default is DefaultPropagation.ORPHAN else []))


@pytest.mark.parametrize(
    ("start", "policy", "expected"),
    [
        (["b/y", ORPHAN, "a/x"], PropagationPolicy.ORPHAN, ["b/y", ORPHAN, "a/x"]),  # the same set stays as it is
        ([FOREGROUND, "a/x", FOREGROUND], PropagationPolicy.FOREGROUND, [FOREGROUND, "a/x", FOREGROUND]),
        ([FOREGROUND, "a/x"], PropagationPolicy.ORPHAN, ["a/x", ORPHAN]),  # a new one comes last
        ([ORPHAN, FOREGROUND, "a/x"], None, ["a/x", ORPHAN]),  # of both, the first decides
        ([FOREGROUND, ORPHAN, "a/x"], None, ["a/x", FOREGROUND]),
    ],
)
def test_order_of_finalizers(start: list[str], policy: PropagationPolicy | None, expected: list[str]) -> None:
    assert deletion.finalizers_after(start, policy, DefaultPropagation.BACKGROUND) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (("", "v1", "ReplicationController"), DefaultPropagation.ORPHAN),
        (("batch", "v1", "Job"), DefaultPropagation.ORPHAN),
        (("batch", "v1beta1", "CronJob"), DefaultPropagation.ORPHAN),
        (("batch", "v1", "CronJob"), DefaultPropagation.BACKGROUND),
        (("apps", "v1", "ReplicaSet"), DefaultPropagation.BACKGROUND),
        (("apps", "v1", "StatefulSet"), DefaultPropagation.BACKGROUND),
        (("", "v1", "Event"), DefaultPropagation.UNSUPPORTED),
        (("events.k8s.io", "v1", "Event"), DefaultPropagation.UNSUPPORTED),
        (("example.com", "v1", "Event"), DefaultPropagation.BACKGROUND),
        (("example.com", "v1", "Job"), DefaultPropagation.BACKGROUND),
    ],
)
def test_default_propagation(kind: tuple[str, str, str], expected: DefaultPropagation) -> None:
    """The policy of a delete without a policy. (GCP-1)"""
    assert deletion.default_propagation(*kind) is expected


# --- objects other than pods -----------------------------------------------------------------------------------------------


def delete(meta: dict[str, Any], policy: PropagationPolicy | None = None, grace: int | None = None) -> deletion.DeletionDecision:
    return deletion.decide(meta, DeletionRequest(policy, grace), DefaultPropagation.BACKGROUND, now=NOW)


def test_object_without_finalizers_is_removed_unmarked() -> None:
    assert delete({"name": "a", "generation": 3}) == REMOVE
    assert delete({"name": "a", "finalizers": [ORPHAN]}, PropagationPolicy.BACKGROUND) == REMOVE


def test_object_with_finalizers_is_marked_in_whole_seconds_and_its_generation_incremented() -> None:
    decision = delete({"name": "a", "generation": 3, "finalizers": ["a/x"]}, PropagationPolicy.FOREGROUND, grace=40)
    marked = {"name": "a", "generation": 4, "deletionTimestamp": STAMP, "deletionGracePeriodSeconds": 0}
    assert decision == ({**marked, "finalizers": ["a/x", FOREGROUND]}, False)


def test_object_without_a_generation_gets_none() -> None:
    marked = delete({"name": "a", "finalizers": ["a/x"]}).metadata
    assert marked is not None
    assert "generation" not in marked


MARKED = {"name": "a", "generation": 4, "deletionTimestamp": "2023-11-14T22:00:00Z", "deletionGracePeriodSeconds": 0}


@pytest.mark.parametrize(
    ("finalizers", "policy", "expected"),
    [
        (["a/x"], None, ["a/x"]),
        (["a/x"], PropagationPolicy.BACKGROUND, ["a/x"]),
        (["a/x"], PropagationPolicy.FOREGROUND, ["a/x", FOREGROUND]),
        (["a/x"], PropagationPolicy.ORPHAN, ["a/x", ORPHAN]),
        (["a/x", FOREGROUND], None, ["a/x", FOREGROUND]),
        (["a/x", FOREGROUND], PropagationPolicy.BACKGROUND, ["a/x"]),
        (["a/x", FOREGROUND], PropagationPolicy.ORPHAN, ["a/x", ORPHAN]),
        (["a/x", ORPHAN], PropagationPolicy.FOREGROUND, ["a/x", FOREGROUND]),
    ],
)
def test_second_delete_may_change_the_policy_and_nothing_else(
    finalizers: list[str], policy: PropagationPolicy | None, expected: list[str]
) -> None:
    decision = delete({**MARKED, "finalizers": finalizers}, policy)
    assert decision == (NO_CHANGE if finalizers == expected else ({**MARKED, "finalizers": expected}, False))


@pytest.mark.parametrize("finalizers", [[FOREGROUND], [ORPHAN]])
def test_second_delete_in_the_background_removes_it(finalizers: list[str]) -> None:
    assert delete({**MARKED, "finalizers": finalizers}, PropagationPolicy.BACKGROUND) == REMOVE


def test_deletion_timestamp_in_the_future_is_set_to_now_without_another_generation() -> None:
    ahead = {**MARKED, "deletionTimestamp": "2023-11-14T23:00:00Z", "finalizers": ["a/x"]}
    assert delete(ahead) == ({**MARKED, "deletionTimestamp": STAMP, "finalizers": ["a/x"]}, False)


# --- pods -------------------------------------------------------------------------------------------------------------------


def pod(meta: dict[str, Any], *, node: str = "n", own: int | None = 30, phase: str = "Running") -> dict[str, Any]:
    spec = {**({"nodeName": node} if node else {}), **({} if own is None else {"terminationGracePeriodSeconds": own})}
    return {"metadata": meta, "spec": spec, "status": {"phase": phase}}


def delete_pod(
    meta: dict[str, Any], grace: int | None = None, policy: PropagationPolicy | None = None, **about: Any
) -> deletion.DeletionDecision:
    return deletion.decide(meta, DeletionRequest(policy, grace), DefaultPropagation.BACKGROUND, now=NOW, pod=pod(meta, **about))


def ending(seconds: float, grace: int) -> dict[str, Any]:
    """Returns the mark of a pod whose grace period ends so many seconds from now."""
    return {"deletionTimestamp": timestamps.format_time(NOW + seconds), "deletionGracePeriodSeconds": grace}


@pytest.mark.parametrize(
    ("asked", "own", "grace"),
    [(None, 30, 30), (None, None, 0), (None, 0, 0), (None, -5, 1), (-1, 30, 1), (0, 30, 0), (1, 30, 1), (2, 30, 2), (60, 30, 60)],
)
def test_first_delete_of_a_pod_sets_its_grace_period(asked: int | None, own: int | None, grace: int) -> None:
    assert delete_pod({"name": "p"}, asked, own=own) == ({"name": "p", **ending(grace, grace)}, grace == 0)


@pytest.mark.parametrize("about", [{"node": ""}, {"phase": "Failed"}, {"phase": "Succeeded"}], ids=str)
def test_pod_that_is_not_running_has_no_grace_period(about: dict[str, Any]) -> None:
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
    decision = delete_pod(meta, asked)
    if expected is None:
        assert decision == NO_CHANGE
    else:
        assert decision == ({"name": "p", **ending(left + expected, expected)}, expected == 0)


@pytest.mark.parametrize("asked", [None, -1, 0, 1, 2])
def test_pod_whose_grace_period_is_over_is_removed_by_any_delete(asked: int | None) -> None:
    for meta in ({"name": "p", **ending(-5, 0)}, {"name": "p", "deletionTimestamp": STAMP}):
        assert delete_pod(meta, asked) == REMOVE


def test_delete_without_a_grace_period_changes_nothing_not_even_finalizers() -> None:
    meta = {"name": "p", "finalizers": ["a/x"], **ending(30, 30)}
    assert delete_pod(meta, policy=PropagationPolicy.FOREGROUND) == NO_CHANGE


def test_shortening_applies_the_policy_again() -> None:
    meta = {"name": "p", "finalizers": ["a/x", FOREGROUND], **ending(30, 30)}
    assert delete_pod(meta, 5, PropagationPolicy.ORPHAN) == ({"name": "p", **ending(5, 5), "finalizers": ["a/x", ORPHAN]}, False)


@pytest.mark.parametrize(("asked", "grace"), [(5, 1), (1, 1), (-1, 1), (0, 0)])
def test_grace_period_that_would_have_ended_in_the_past_ends_now(asked: int, grace: int) -> None:
    meta = {"name": "p", **ending(20, 60)}  # 40 of the 60 seconds are over
    assert delete_pod(meta, asked) == ({"name": "p", **ending(0, grace)}, grace == 0)


def test_pod_with_finalizers_and_no_grace_period_is_marked_and_stays() -> None:
    decision = delete_pod({"name": "p", "finalizers": ["a/x"]}, 0)
    assert decision == ({"name": "p", "finalizers": ["a/x"], **ending(0, 0)}, False)


def test_pod_loses_its_last_finalizer_and_is_removed_in_the_same_delete() -> None:
    meta = {"name": "p", "finalizers": [FOREGROUND], **ending(-1, 0)}
    assert delete_pod(meta, 0, PropagationPolicy.BACKGROUND) == ({"name": "p", **ending(-1, 0)}, True)


def test_pod_within_its_grace_period_loses_its_finalizers_and_stays() -> None:
    meta = {"name": "p", "finalizers": [FOREGROUND], **ending(30, 30)}
    assert delete_pod(meta, 20, PropagationPolicy.BACKGROUND) == ({"name": "p", **ending(20, 20)}, False)


def test_generation_of_a_pod_counts_only_the_first_delete() -> None:
    first = delete_pod({"name": "p", "generation": 1}).metadata
    assert first is not None
    assert first["generation"] == 2
    second = delete_pod(first, 10).metadata
    assert second is not None
    assert second["generation"] == 2
