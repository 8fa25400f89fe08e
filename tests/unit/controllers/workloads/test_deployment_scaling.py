"""The arithmetic of a rollout: whatever sizes there are, what is decided stays within the bounds and gets somewhere."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.controllers.workloads.deployments import revisions, scaling
from probate.controllers.workloads.deployments.replica_sets import Family, total
from probate.controllers.workloads.deployments.scaling import Bounds


def member(name: str, size: int, available: int, *, is_dying: bool = False, desired: int | None = None, most: int = 0) -> Any:
    dying = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_dying else {}
    about = {} if desired is None else {revisions.DESIRED: str(desired), revisions.MOST: str(most)}
    meta = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{int(name):02d}Z", "annotations": about, **dying}
    return {"metadata": meta, "spec": {"replicas": size}, "status": {"availableReplicas": available}}


@st.composite
def states(draw: st.DrawFn) -> tuple[Any, Bounds]:
    replicas = draw(st.integers(0, 12))
    surge = draw(st.integers(0, 5))
    unavailable = min(replicas, draw(st.integers(0 if surge else 1, 5)))
    counts = [(size, draw(st.integers(0, size))) for size in draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))]
    members = [member(str(at), *one, is_dying=draw(st.booleans())) for at, one in enumerate(counts)]
    new = member("9", *counts[-1])
    return Family(new, members[:-1]), Bounds(replicas, surge, unavailable)


def after(family: Family, decided: dict[str, int]) -> int:
    """How many pods are available at least, once the sizes are as decided: those that do not serve need not go first."""
    return sum(min(total([one], "availableReplicas"), decided.get(one["metadata"]["name"], total([one]))) for one in family.living)


@given(states())
def test_new_pods_never_make_more_than_the_most(state: tuple[Any, Bounds]) -> None:
    family, wanted = state
    before = total([family.new])
    grown = scaling.of_new(family, wanted, before, overlaps=True)
    assert grown <= wanted.replicas
    if grown > before:
        assert total(family.all) - before + grown <= wanted.most


@given(states())
def test_old_pods_that_serve_never_go_while_they_are_needed(state: tuple[Any, Bounds]) -> None:
    family, wanted = state
    decided = scaling.of_old(family, wanted)
    assert all(size >= 0 for size in decided.values())
    serving = total(family.living, "availableReplicas")
    assert after(family, decided) >= min(wanted.least, serving)


@given(states())
def test_replica_sets_that_are_being_deleted_get_no_size(state: tuple[Any, Bounds]) -> None:
    family, wanted = state
    dying = {one["metadata"]["name"] for one in family.dying}
    decided = {**scaling.of_old(family, wanted), **scaling.of_none(family)}
    assert not dying & decided.keys()


def test_pods_that_are_going_anyway_are_no_reason_to_take_others() -> None:
    dying, sick = member("1", 4, 4, is_dying=True), member("2", 3, 2)
    assert scaling.of_old(Family(member("9", 0, 0), [dying, sick]), Bounds(3, 1, 0)) == {}


@given(states())
def test_where_all_pods_serve_something_can_always_happen(state: tuple[Any, Bounds]) -> None:
    family, wanted = state
    healthy: Any = Family(_served(family.new), [_served(one) for one in family.living_old])
    is_over = total(healthy.old) == 0 and total([healthy.new]) == wanted.replicas
    grows = scaling.of_new(healthy, wanted, total([healthy.new]), overlaps=True) != total([healthy.new])
    assert is_over or grows or scaling.of_old(healthy, wanted)


def _served(one: Any) -> Any:
    return {**one, "status": {"availableReplicas": one["spec"]["replicas"]}}


def scaled(replicas: int, surge: int, *members: Any) -> dict[str, int]:
    way = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}}
    deployment = {"spec": {"replicas": replicas, "strategy": way}, "status": {}}
    return scaling.scaled(deployment, Family(members[-1], list(members[:-1])))


def test_scaling_gives_each_its_share_and_what_is_left_over_to_the_largest() -> None:
    old, new = member("1", 8, 8, desired=10, most=13), member("2", 5, 0, desired=10, most=13)
    assert scaled(15, 3, old, new) == {"1": 11, "2": 7}
    assert scaled(5, 3, old, new) == {"1": 5, "2": 3}
    assert scaled(0, 3, old, new) == {"1": 0, "2": 0}


def test_scaling_when_the_new_version_is_all_there_ends_the_old_ones() -> None:
    old, new = member("1", 2, 2, desired=5, most=6), member("2", 5, 5, desired=5, most=6)
    assert scaled(5, 1, old, new) == {"1": 0}


def test_percentages_are_rounded_up_for_more_and_down_for_less() -> None:
    def bounds(surge: Any, unavailable: Any) -> Bounds:
        way = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
        return scaling.bounds({"spec": {"replicas": 10, "strategy": way}})

    assert bounds("25%", "25%") == Bounds(10, 3, 2)
    assert bounds(0, "5%") == Bounds(10, 0, 1), "something must be allowed to happen"
    assert bounds(0, 50).unavailable == 10
