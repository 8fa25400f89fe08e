"""Validates the counters in the status of workloads, autoscalers and disruption budgets.

No counter is negative, and no part is larger than its whole. Every write is checked, including those of controllers: a faulty
controller gets an error, and readers can rely on the status.
"""

from __future__ import annotations

from probate.api.field_errors import FieldPath, invalid
from probate.kinds.shared.condition_validation import check_conditions
from probate.kinds.shared.field_checks import Problems, Value, check_nonnegative, child

_STATUS = FieldPath("status")
_PARTS = ("readyReplicas", "availableReplicas")
_OTHERS = ("replicas", "unavailableReplicas", "terminatingReplicas", "observedGeneration", "collisionCount")
_DAEMONS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def check_deployment(new: Value, old: Value) -> Problems:
    """Validates a Deployment written through `status`.

    A Deployment without ready replicas may come from an old controller, so its available replicas are not compared with them.
    """
    is_counted = (child(new, "status").get("readyReplicas") or 0) > 0
    yield from _check_replicas(new, *_PARTS, "updatedReplicas", are_compared=is_counted)
    yield from _check_collisions(new, old)


def check_replica_set(new: Value, old: Value) -> Problems:
    """Validates a ReplicaSet or ReplicationController written through `status`."""
    yield from _check_replicas(new, *_PARTS, "fullyLabeledReplicas")


def check_stateful_set(new: Value, old: Value) -> Problems:
    """Validates a StatefulSet written through `status`."""
    yield from _check_replicas(new, *_PARTS, "currentReplicas", "updatedReplicas")
    yield from _check_collisions(new, old)


def check_daemons(new: Value, old: Value) -> Problems:
    """Validates a DaemonSet written through `status`."""
    yield from check_nonnegative(child(new, "status"), _STATUS, *_DAEMONS)
    yield from _check_collisions(new, old)


def check_autoscaler(new: Value, old: Value) -> Problems:
    """Validates a HorizontalPodAutoscaler written through `status`."""
    yield from check_nonnegative(child(new, "status"), _STATUS, "currentReplicas", "desiredReplicas")


def check_budget(new: Value, old: Value) -> Problems:
    """Validates a PodDisruptionBudget written through `status`."""
    status = child(new, "status")
    yield from check_conditions(status, _STATUS)
    yield from check_nonnegative(status, _STATUS, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _check_replicas(workload: Value, *parts: str, are_compared: bool = True) -> Problems:
    status = child(workload, "status")
    yield from check_nonnegative(status, _STATUS, *_OTHERS, *parts)
    for field in parts:
        number = status.get(field) or 0
        if number > (status.get("replicas") or 0):
            yield invalid(_STATUS / field, number, "cannot be greater than status.replicas")
    available = status.get("availableReplicas") or 0
    if are_compared and available > (status.get("readyReplicas") or 0):
        yield invalid(_STATUS / "availableReplicas", available, "cannot be greater than readyReplicas")


def _check_collisions(new: Value, old: Value) -> Problems:
    after, before = (child(one, "status").get("collisionCount") for one in (new, old))
    if before is not None and (after is None or after < before):
        yield invalid(_STATUS / "collisionCount", after or 0, "cannot be decremented")
