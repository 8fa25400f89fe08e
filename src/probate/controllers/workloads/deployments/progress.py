"""The status of a Deployment: its replica counts and its progress. `kubectl rollout status` reads it.

Available        enough of the desired pods are available
Progressing      True: the rollout advances, or is complete (NewReplicaSetAvailable); False: nothing happened for longer than
                 `progressDeadlineSeconds`; Unknown: paused, or just resumed
ReplicaFailure   a ReplicaSet could not create or delete pods
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.timestamps import format_time, parse_time
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.runtime.conditions import Conditions
from probate.controllers.workloads.deployments import replica_counts
from probate.controllers.workloads.deployments.replica_sets import ReplicaSets, total

PROGRESSING = "Progressing"
AVAILABLE = "Available"
REPLICA_FAILURE = "ReplicaFailure"
NEW_REPLICA_SET_AVAILABLE = "NewReplicaSetAvailable"
DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
_NO_DEADLINE = 2**31 - 1


def progress_deadline(deployment: Object) -> int | None:
    """Returns how many seconds may pass without progress, or None if there is no deadline."""
    seconds_: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return None if seconds_ == _NO_DEADLINE else seconds_


def with_progressing(current_conditions: Conditions, status: str, *, reason: str, message: str, now: float) -> Conditions:
    """Returns the conditions with this Progressing condition."""
    return conditions.replace(
        current_conditions,
        conditions.new_condition(PROGRESSING, status, reason=reason, message=message),
        format_time(now),
        "lastUpdateTime",
    )


def with_pause(deployment: Object, current_conditions: Conditions, now: float) -> Conditions:
    """Returns the conditions with the paused or resumed state: a paused Deployment cannot exceed its deadline."""
    if progress_deadline(deployment) is None:
        return current_conditions
    reason = (conditions.find(current_conditions, PROGRESSING) or {}).get("reason")
    if deployment["spec"].get("paused"):
        return (
            current_conditions
            if reason in {DEADLINE_EXCEEDED, PAUSED}
            else with_progressing(current_conditions, "Unknown", reason=PAUSED, message="Deployment is paused", now=now)
        )
    return (
        with_progressing(current_conditions, "Unknown", reason="DeploymentResumed", message="Deployment is resumed", now=now)
        if reason == PAUSED
        else current_conditions
    )


def status_of(
    deployment: Object, replica_sets: ReplicaSets, current_conditions: Conditions, *, now: float, collisions: int | None
) -> Object:
    """Returns the status with the replica counts and the Available condition."""
    all_sets, limits = replica_sets.all, replica_counts.rollout_limits(deployment)
    available = total(all_sets, "availableReplicas")
    counts = {
        "replicas": total(all_sets, "replicas"),
        "updatedReplicas": total([replica_sets.new], "replicas") if replica_sets.new is not None else 0,
        "readyReplicas": total(all_sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(all_sets) - available),
    }
    if available >= limits.min_available:
        availability = conditions.new_condition(
            AVAILABLE, "True", reason="MinimumReplicasAvailable", message="Deployment has minimum availability."
        )
    else:
        availability = conditions.new_condition(
            AVAILABLE, "False", reason="MinimumReplicasUnavailable", message="Deployment does not have minimum availability."
        )
    return {
        "observedGeneration": deployment["metadata"]["generation"],
        **{name: count for name, count in counts.items() if count},
        "terminatingReplicas": total(all_sets, "terminatingReplicas"),
        **({"collisionCount": collisions} if collisions is not None else {}),
        "conditions": conditions.replace(current_conditions, availability, format_time(now), "lastUpdateTime"),
    }


def is_complete(deployment: Object, status: Object) -> bool:
    """Returns whether all desired pods are of the new version and available, and no other pods exist."""
    desired, counts = deployment["spec"]["replicas"], ("updatedReplicas", "replicas", "availableReplicas")
    return all(status.get(name, 0) == desired for name in counts)


def with_progress(deployment: Object, replica_sets: ReplicaSets, status: Object, *, now: float) -> Object:
    """Returns the status with the Progressing and ReplicaFailure conditions."""
    current_conditions = status["conditions"]
    if progress_deadline(deployment) is None:
        current_conditions = conditions.without(current_conditions, PROGRESSING)
    elif not _was_complete(deployment, status):
        current_conditions = _with_current_progress(
            deployment, replica_sets, status, current_conditions=current_conditions, now=now
        )
    failure = _replica_failure(replica_sets)
    current_conditions = (
        conditions.replace(current_conditions, failure, format_time(now), "lastUpdateTime")
        if failure
        else conditions.without(current_conditions, REPLICA_FAILURE)
    )
    return {**status, "conditions": current_conditions}


def seconds_until_deadline(deployment: Object, status: Object, now: float) -> float | None:
    """Returns in how many seconds the progress deadline is exceeded if nothing happens until then."""
    allowed, current = progress_deadline(deployment), conditions.find(status["conditions"], PROGRESSING)
    if allowed is None or current is None or current["reason"] == DEADLINE_EXCEEDED or is_complete(deployment, status):
        return None
    return remaining_time.until(parse_time(current["lastUpdateTime"]) + allowed, now) + 1.0


def _was_complete(deployment: Object, status: Object) -> bool:
    """Returns whether the new version was complete before, and no other version has pods: then only the number of pods changes."""
    current = conditions.find((deployment.get("status") or {}).get("conditions") or [], PROGRESSING)
    is_uniform = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return is_uniform and current is not None and current["reason"] == NEW_REPLICA_SET_AVAILABLE


def _with_current_progress(
    deployment: Object, replica_sets: ReplicaSets, status: Object, *, current_conditions: Conditions, now: float
) -> Conditions:
    subject = f'ReplicaSet "{replica_sets.new["metadata"]["name"]}"' if replica_sets.new is not None else "Deployment"
    if is_complete(deployment, status):
        return with_progressing(
            current_conditions, "True", reason=NEW_REPLICA_SET_AVAILABLE, message=f"{subject} has successfully progressed.", now=now
        )
    if _has_progressed(deployment.get("status") or {}, status):
        # Replaced on every change, so that lastUpdateTime is the time of the last progress.
        before = conditions.find(current_conditions, PROGRESSING)
        new = conditions.new_condition(PROGRESSING, "True", reason="ReplicaSetUpdated", message=f"{subject} is progressing.")
        updated = conditions.replace(conditions.without(current_conditions, PROGRESSING), new, format_time(now), "lastUpdateTime")
        if before is not None and before["status"] == "True":
            updated[-1]["lastTransitionTime"] = before["lastTransitionTime"]
        return updated
    if _is_deadline_exceeded(deployment, current_conditions, now):
        return with_progressing(
            current_conditions, "False", reason=DEADLINE_EXCEEDED, message=f"{subject} has timed out progressing.", now=now
        )
    return current_conditions


def _has_progressed(before: Object, status: Object) -> bool:
    def count(status_: Object, name: str) -> int:
        return status_.get(name) or 0

    def old(status_: Object) -> int:
        return count(status_, "replicas") - count(status_, "updatedReplicas")

    growing = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(status) < old(before) or any(count(status, name) > count(before, name) for name in growing)


def _is_deadline_exceeded(deployment: Object, current_conditions: Conditions, now: float) -> bool:
    allowed, current = progress_deadline(deployment), conditions.find(current_conditions, PROGRESSING)
    if allowed is None or current is None or current["reason"] == NEW_REPLICA_SET_AVAILABLE:
        return False
    return bool(current["reason"] == DEADLINE_EXCEEDED or parse_time(current["lastUpdateTime"]) + allowed < now)


def _replica_failure(replica_sets: ReplicaSets) -> Object | None:
    """Returns the ReplicaFailure condition of a ReplicaSet, of the new one if it has any."""
    for replica_set in reversed(replica_sets.all):
        condition = conditions.find((replica_set.get("status") or {}).get("conditions") or [], REPLICA_FAILURE)
        if condition is not None:
            return conditions.new_condition(
                REPLICA_FAILURE, condition["status"], reason=condition["reason"], message=condition["message"]
            )
    return None
