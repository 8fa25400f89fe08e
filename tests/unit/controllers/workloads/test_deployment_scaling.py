"""The arithmetic of a rollout: from every state, the decided sizes stay within the limits and make progress."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.controllers.workloads.deployments import replica_counts, revisions
from probate.controllers.workloads.deployments.replica_counts import RolloutLimits
from probate.controllers.workloads.deployments.replica_sets import ReplicaSets, total


def member(
    name: str, size: int, available: int, *, is_deleting: bool = False, desired: int | None = None, max_replicas: int = 0
) -> Any:
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_deleting else {}
    annotations = {} if desired is None else {revisions.DESIRED_REPLICAS: str(desired), revisions.MAX_REPLICAS: str(max_replicas)}
    meta = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{int(name):02d}Z", "annotations": annotations, **deletion}
    return {"metadata": meta, "spec": {"replicas": size}, "status": {"availableReplicas": available}}


@st.composite
def states(draw: st.DrawFn) -> tuple[Any, RolloutLimits]:
    replicas = draw(st.integers(0, 12))
    surge = draw(st.integers(0, 5))
    unavailable = min(replicas, draw(st.integers(0 if surge else 1, 5)))
    counts = [(size, draw(st.integers(0, size))) for size in draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))]
    members = [member(str(index), *sizes, is_deleting=draw(st.booleans())) for index, sizes in enumerate(counts)]
    new = member("9", *counts[-1])
    return ReplicaSets(new, members[:-1]), RolloutLimits(replicas, surge, unavailable)


def available_after(replica_sets: ReplicaSets, sizes: dict[str, int]) -> int:
    """Returns the minimum number of available pods after the decided scaling: unavailable pods need not be removed first."""
    return sum(
        min(total([replica_set], "availableReplicas"), sizes.get(replica_set["metadata"]["name"], total([replica_set])))
        for replica_set in replica_sets.not_deleting
    )


@given(states())
def test_new_pods_never_exceed_max_pods(state: tuple[Any, RolloutLimits]) -> None:
    replica_sets, limits = state
    before = total([replica_sets.new])
    new_size = replica_counts.new_replica_set_size(replica_sets, limits, before, is_rolling_update=True)
    assert new_size <= limits.replicas
    if new_size > before:
        assert total(replica_sets.all) - before + new_size <= limits.max_pods


@given(states())
def test_available_old_pods_are_kept_while_they_are_needed(state: tuple[Any, RolloutLimits]) -> None:
    replica_sets, limits = state
    sizes = replica_counts.old_replica_set_sizes(replica_sets, limits)
    assert all(size >= 0 for size in sizes.values())
    available = total(replica_sets.not_deleting, "availableReplicas")
    assert available_after(replica_sets, sizes) >= min(limits.min_available, available)


@given(states())
def test_replica_sets_that_are_being_deleted_get_no_size(state: tuple[Any, RolloutLimits]) -> None:
    replica_sets, limits = state
    deleting = {replica_set["metadata"]["name"] for replica_set in replica_sets.deleting}
    sizes = {**replica_counts.old_replica_set_sizes(replica_sets, limits), **replica_counts.zero_old_sizes(replica_sets)}
    assert not deleting & sizes.keys()


def test_deleting_replica_sets_do_not_cause_further_scale_down() -> None:
    deleting, partly_available = member("1", 4, 4, is_deleting=True), member("2", 3, 2)
    assert (
        replica_counts.old_replica_set_sizes(ReplicaSets(member("9", 0, 0), [deleting, partly_available]), RolloutLimits(3, 1, 0))
        == {}
    )


@given(states())
def test_rollout_makes_progress_if_all_pods_are_available(state: tuple[Any, RolloutLimits]) -> None:
    replica_sets, limits = state
    healthy: Any = ReplicaSets(
        _fully_available(replica_sets.new), [_fully_available(replica_set) for replica_set in replica_sets.old_not_deleting]
    )
    is_complete = total(healthy.old) == 0 and total([healthy.new]) == limits.replicas
    grows = replica_counts.new_replica_set_size(healthy, limits, total([healthy.new]), is_rolling_update=True) != total(
        [healthy.new]
    )
    assert is_complete or grows or replica_counts.old_replica_set_sizes(healthy, limits)


def _fully_available(replica_set: Any) -> Any:
    return {**replica_set, "status": {"availableReplicas": replica_set["spec"]["replicas"]}}


def scaled_sizes(replicas: int, surge: int, *members: Any) -> dict[str, int]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}}
    deployment = {"spec": {"replicas": replicas, "strategy": strategy}, "status": {}}
    return replica_counts.scaled_sizes(deployment, ReplicaSets(members[-1], list(members[:-1])))


def test_scaling_is_proportional_and_the_largest_gets_the_remainder() -> None:
    old, new = member("1", 8, 8, desired=10, max_replicas=13), member("2", 5, 0, desired=10, max_replicas=13)
    assert scaled_sizes(15, 3, old, new) == {"1": 11, "2": 7}
    assert scaled_sizes(5, 3, old, new) == {"1": 5, "2": 3}
    assert scaled_sizes(0, 3, old, new) == {"1": 0, "2": 0}


def test_scaling_a_complete_rollout_scales_the_old_replica_sets_to_zero() -> None:
    old, new = member("1", 2, 2, desired=5, max_replicas=6), member("2", 5, 5, desired=5, max_replicas=6)
    assert scaled_sizes(5, 1, old, new) == {"1": 0}


def test_percentages_round_up_for_surge_and_down_for_unavailable() -> None:
    def limits(surge: Any, unavailable: Any) -> RolloutLimits:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
        return replica_counts.rollout_limits({"spec": {"replicas": 10, "strategy": strategy}})

    assert limits("25%", "25%") == RolloutLimits(10, 3, 2)
    assert limits(0, "5%") == RolloutLimits(10, 0, 1), "the rollout could make no progress"
    assert limits(0, 50).max_unavailable == 10
