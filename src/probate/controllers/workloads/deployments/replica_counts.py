"""The next size of each ReplicaSet of a Deployment, computed from the desired and the existing pods.

A rolling update creates new pods while there are at most `max_pods` in total, and deletes old ones while at least `min_available`
stay available. Pods of a ReplicaSet that is being deleted count towards the total, because they exist until they are gone, but
never as available.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import int_or_percent
from probate.controllers.workloads.deployments import revisions
from probate.controllers.workloads.deployments.replica_sets import ReplicaSets, age_key, desired_replicas, total

Sizes = dict[str, int]
"""The new size of each ReplicaSet, by name. ReplicaSets that are not listed keep their size."""


class RolloutLimits(NamedTuple):
    """The desired number of pods, how many more may exist, and how many of the desired ones may be unavailable."""

    replicas: int
    max_surge: int
    max_unavailable: int

    @property
    def max_pods(self) -> int:
        return self.replicas + self.max_surge

    @property
    def min_available(self) -> int:
        return self.replicas - self.max_unavailable


def is_rolling_update(deployment: Object) -> bool:
    """Returns whether the strategy is RollingUpdate: the versions overlap."""
    return bool(deployment["spec"]["strategy"]["type"] == "RollingUpdate")


def rollout_limits(deployment: Object) -> RolloutLimits:
    """Returns the limits of the rollout. If both maxSurge and maxUnavailable are 0, one pod may be unavailable, so that the
    rollout can make progress.
    """
    replicas = deployment["spec"]["replicas"]
    if not is_rolling_update(deployment):
        return RolloutLimits(replicas, 0, 0)
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    max_surge = int_or_percent.round_up(rolling.get("maxSurge", 0), replicas)
    max_unavailable = int_or_percent.round_down(rolling.get("maxUnavailable", 0), replicas)
    if max_surge == max_unavailable == 0:
        max_unavailable = 1
    return RolloutLimits(replicas, max_surge, min(max_unavailable, replicas))


def new_replica_set_size(replica_sets: ReplicaSets, limits: RolloutLimits, current: int, *, is_rolling_update: bool) -> int:
    """Returns the next size of the new ReplicaSet, which has `current` pods now."""
    if not is_rolling_update or current > limits.replicas:
        return limits.replicas
    room = limits.max_pods - total(replica_sets.all)
    return current + max(0, min(room, limits.replicas - current))


def old_replica_set_sizes(replica_sets: ReplicaSets, limits: RolloutLimits) -> Sizes:
    """Returns the next sizes of the old ReplicaSets. Unavailable pods are removed first, at no loss of availability."""
    old_sets, remaining = replica_sets.old_not_deleting, replica_sets.not_deleting
    unavailable_new = (
        total([replica_sets.new], "") - total([replica_sets.new], "availableReplicas") if replica_sets.new is not None else 0
    )
    sizes = {_name(replica_set): desired_replicas(replica_set) for replica_set in old_sets}
    spare = total(remaining) - limits.min_available - unavailable_new
    for replica_set in old_sets:
        unhealthy = desired_replicas(replica_set) - total([replica_set], "availableReplicas")
        removed = max(0, min(spare, unhealthy, desired_replicas(replica_set)))
        sizes[_name(replica_set)] -= removed
        spare -= removed
    if total(remaining) - limits.min_available - unavailable_new > 0:
        _remove_available(sizes, old_sets, total(remaining, "availableReplicas") - limits.min_available)
    return {
        _name(replica_set): sizes[_name(replica_set)]
        for replica_set in old_sets
        if sizes[_name(replica_set)] != desired_replicas(replica_set)
    }


def _remove_available(sizes: Sizes, old_sets: list[Object], spare: int) -> None:
    for replica_set in old_sets:
        removed = max(0, min(spare, sizes[_name(replica_set)]))
        sizes[_name(replica_set)] -= removed
        spare -= removed


def zero_old_sizes(replica_sets: ReplicaSets) -> Sizes:
    """Returns size 0 for all old ReplicaSets that have pods."""
    return {_name(replica_set): 0 for replica_set in replica_sets.old_not_deleting if desired_replicas(replica_set)}


def is_scaling_event(deployment: Object, replica_sets: ReplicaSets) -> bool:
    """Returns whether the desired number of pods has changed since the ReplicaSets were last scaled."""
    recorded = [
        revisions.annotation_number(replica_set, revisions.DESIRED_REPLICAS)
        for replica_set in replica_sets.not_deleting
        if desired_replicas(replica_set)
    ]
    return any(number not in {None, deployment["spec"]["replicas"]} for number in recorded)


def scaled_sizes(deployment: Object, replica_sets: ReplicaSets) -> Sizes:
    """Returns the sizes for the new desired number of pods, in the current proportion of versions."""
    limits = rollout_limits(deployment)
    active = [replica_set for replica_set in replica_sets.not_deleting if desired_replicas(replica_set)]
    if len(active) < 2:
        target = active[0] if active else _latest_replica_set(replica_sets)
        return {} if target is None else {_name(target): limits.replicas}
    if _is_saturated(replica_sets.new, limits.replicas):
        return zero_old_sizes(replica_sets)
    return _proportional(deployment, replica_sets, active, limits=limits) if is_rolling_update(deployment) else {}


def _latest_replica_set(replica_sets: ReplicaSets) -> Object | None:
    """Returns the ReplicaSet that gets the pods if none has any."""
    if replica_sets.new is not None:
        return None if is_deleting(replica_sets.new) else replica_sets.new
    return max(replica_sets.old_not_deleting, key=age_key, default=None)


def _is_saturated(new: Object | None, replicas: int) -> bool:
    if new is None or is_deleting(new):
        return False
    available = total([new], "availableReplicas")
    return (
        desired_replicas(new) == available == replicas and revisions.annotation_number(new, revisions.DESIRED_REPLICAS) == replicas
    )


def _proportional(deployment: Object, replica_sets: ReplicaSets, active: list[Object], *, limits: RolloutLimits) -> Sizes:
    """Returns sizes that give each ReplicaSet its share of the difference; the largest gets the rounding remainder."""
    allowed = limits.max_pods if limits.replicas else 0
    change = allowed - total(active)
    if change > 0:
        change = max(0, change - total(replica_sets.deleting))
    # The larger first; of two that are equal the newer grows first, and the older shrinks first.
    ordered = sorted(active, key=age_key, reverse=change > 0)
    ordered.sort(key=desired_replicas, reverse=True)
    sizes, added = {_name(replica_set): desired_replicas(replica_set) for replica_set in ordered}, 0
    for replica_set in ordered if change else ():
        share = _share(replica_set, deployment, limits)
        share = min(share, change - added) if change > 0 else max(share, change - added)
        sizes[_name(replica_set)] += share
        added += share
    sizes[_name(ordered[0])] = max(0, sizes[_name(ordered[0])] + change - added)
    return sizes


def _share(replica_set: Object, deployment: Object, limits: RolloutLimits) -> int:
    """Returns by how much the ReplicaSet changes if it keeps its share of the total."""
    if not limits.replicas:
        return -desired_replicas(replica_set)
    previous_max = (
        revisions.annotation_number(replica_set, revisions.MAX_REPLICAS) or (deployment.get("status") or {}).get("replicas") or 0
    )
    return (
        _round(desired_replicas(replica_set) * limits.max_pods / previous_max) - desired_replicas(replica_set)
        if previous_max
        else 0
    )


def _round(number: float) -> int:
    """Rounds to the nearest integer, halves up."""
    return math.floor(number + 0.5)


def _name(replica_set: Object) -> str:
    name: str = replica_set["metadata"]["name"]
    return name
