"""How many pods each ReplicaSet of a Deployment is to have next: arithmetic, from what is wanted and what there is.

A rolling update makes new pods as long as there are not more than `most` in all, and deletes old ones as long as `least` stay
available. Pods of a ReplicaSet that is being deleted count among those there are, since they take room until they are gone, but
never among those that stay.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import int_or_percent
from probate.controllers.workloads.deployments import revisions
from probate.controllers.workloads.deployments.replica_sets import Family, by_age, size, total

Sizes = dict[str, int]
"""The size that each ReplicaSet is to have, by its name. Others stay as they are."""


class Bounds(NamedTuple):
    """How many pods are wanted, how many more there may be, and how many of those wanted may be missing."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        return self.replicas + self.surge

    @property
    def least(self) -> int:
        return self.replicas - self.unavailable


def is_rolling(deployment: Object) -> bool:
    """Whether the versions overlap."""
    return bool(deployment["spec"]["strategy"]["type"] == "RollingUpdate")


def bounds(deployment: Object) -> Bounds:
    """The bounds of the deployment. Something must always be allowed to happen: else one pod may be missing."""
    replicas = deployment["spec"]["replicas"]
    if not is_rolling(deployment):
        return Bounds(replicas, 0, 0)
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    surge = int_or_percent.rounded_up(rolling.get("maxSurge", 0), replicas)
    unavailable = int_or_percent.rounded_down(rolling.get("maxUnavailable", 0), replicas)
    if surge == unavailable == 0:
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def of_new(family: Family, wanted: Bounds, own: int, *, overlaps: bool) -> int:
    """The size of the new ReplicaSet, which has `own` pods now."""
    if not overlaps or own > wanted.replicas:
        return wanted.replicas
    room = wanted.most - total(family.all)
    return own + max(0, min(room, wanted.replicas - own))


def of_old(family: Family, wanted: Bounds) -> Sizes:
    """The sizes of the old ones. Pods that do not serve go first: nobody misses them."""
    old, living = family.living_old, family.living
    missing = total([family.new], "") - total([family.new], "availableReplicas") if family.new is not None else 0
    sizes = {_name(one): size(one) for one in old}
    spare = total(living) - wanted.least - missing
    for one in old:
        sick = size(one) - total([one], "availableReplicas")
        taken = max(0, min(spare, sick, size(one)))
        sizes[_name(one)] -= taken
        spare -= taken
    if total(living) - wanted.least - missing > 0:
        _take_available(sizes, old, total(living, "availableReplicas") - wanted.least)
    return {_name(one): sizes[_name(one)] for one in old if sizes[_name(one)] != size(one)}


def _take_available(sizes: Sizes, old: list[Object], spare: int) -> None:
    for one in old:
        taken = max(0, min(spare, sizes[_name(one)]))
        sizes[_name(one)] -= taken
        spare -= taken


def of_none(family: Family) -> Sizes:
    """All old ones end."""
    return {_name(one): 0 for one in family.living_old if size(one)}


def is_scaled(deployment: Object, family: Family) -> bool:
    """Whether another number of pods is wanted than when the ReplicaSets got their sizes."""
    seen = [revisions.number(one, revisions.DESIRED) for one in family.living if size(one)]
    return any(number not in {None, deployment["spec"]["replicas"]} for number in seen)


def scaled(deployment: Object, family: Family) -> Sizes:
    """The sizes for another number of pods, while the mix of versions stays what it is."""
    wanted = bounds(deployment)
    active = [one for one in family.living if size(one)]
    if len(active) < 2:
        target = active[0] if active else _latest(family)
        return {} if target is None else {_name(target): wanted.replicas}
    if _is_saturated(family.new, wanted.replicas):
        return of_none(family)
    return _proportional(deployment, family, active, wanted) if is_rolling(deployment) else {}


def _latest(family: Family) -> Object | None:
    """The one that gets the pods if none has any."""
    if family.new is not None:
        return None if is_deleting(family.new) else family.new
    return max(family.living_old, key=by_age, default=None)


def _is_saturated(new: Object | None, replicas: int) -> bool:
    if new is None or is_deleting(new):
        return False
    available = total([new], "availableReplicas")
    return size(new) == available == replicas and revisions.number(new, revisions.DESIRED) == replicas


def _proportional(deployment: Object, family: Family, active: list[Object], wanted: Bounds) -> Sizes:
    """Each gets its share of the difference; what rounding leaves over goes to the largest."""
    allowed = wanted.most if wanted.replicas else 0
    change = allowed - total(active)
    if change > 0:
        change = max(0, change - total(family.dying))
    # The larger first; of two that are equal the newer grows first, and the older shrinks first.
    order = sorted(active, key=by_age, reverse=change > 0)
    order.sort(key=size, reverse=True)
    sizes, added = {_name(one): size(one) for one in order}, 0
    for one in order if change else ():
        share = _share(one, deployment, wanted)
        share = min(share, change - added) if change > 0 else max(share, change - added)
        sizes[_name(one)] += share
        added += share
    sizes[_name(order[0])] = max(0, sizes[_name(order[0])] + change - added)
    return sizes


def _share(replica_set: Object, deployment: Object, wanted: Bounds) -> int:
    """By how much it changes if it keeps its part of the whole."""
    if not wanted.replicas:
        return -size(replica_set)
    before = revisions.number(replica_set, revisions.MOST) or (deployment.get("status") or {}).get("replicas") or 0
    return _rounded(size(replica_set) * wanted.most / before) - size(replica_set) if before else 0


def _rounded(number: float) -> int:
    """To the nearest integer; halves away from nought."""
    return math.floor(number + 0.5)


def _name(replica_set: Object) -> str:
    name: str = replica_set["metadata"]["name"]
    return name
