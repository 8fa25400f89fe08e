"""What a Deployment says of itself: how many pods it has, and whether it gets on. `kubectl rollout status` reads this.

Available     enough of the pods that are wanted serve
Progressing   True: the versions change, or have changed (NewReplicaSetAvailable); False: nothing happened for longer than
              `progressDeadlineSeconds`; Unknown: paused, or just resumed
ReplicaFailure    a ReplicaSet could not make or delete pods
"""

from __future__ import annotations

from probate.api.timestamps import seconds, timestamp
from probate.client.objects import Object
from probate.controllers.runtime import conditions, durations
from probate.controllers.runtime.conditions import Conditions
from probate.controllers.workloads.deployments import scaling
from probate.controllers.workloads.deployments.replica_sets import Family, total

PROGRESSING = "Progressing"
AVAILABLE = "Available"
FAILURE = "ReplicaFailure"
DONE = "NewReplicaSetAvailable"
STUCK = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
_NO_DEADLINE = 2**31 - 1


def deadline(deployment: Object) -> int | None:
    """How many seconds may pass without anything happening."""
    found: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return None if found == _NO_DEADLINE else found


def put(told: Conditions, status: str, reason: str, message: str, now: float) -> Conditions:
    """The conditions, with how the deployment gets on."""
    return conditions.put(told, conditions.made(PROGRESSING, status, reason, message), timestamp(now), "lastUpdateTime")


def with_pause(deployment: Object, told: Conditions, now: float) -> Conditions:
    """The conditions, saying whether the deployment is paused: then it cannot be stuck."""
    if deadline(deployment) is None:
        return told
    reason = (conditions.find(told, PROGRESSING) or {}).get("reason")
    if deployment["spec"].get("paused"):
        return told if reason in {STUCK, PAUSED} else put(told, "Unknown", PAUSED, "Deployment is paused", now)
    return put(told, "Unknown", "DeploymentResumed", "Deployment is resumed", now) if reason == PAUSED else told


def status_of(deployment: Object, family: Family, told: Conditions, now: float, collisions: int | None) -> Object:
    """How many pods there are, and whether they are enough."""
    members, wanted = family.all, scaling.bounds(deployment)
    available = total(members, "availableReplicas")
    counts = {
        "replicas": total(members, "replicas"),
        "updatedReplicas": total([family.new], "replicas") if family.new is not None else 0,
        "readyReplicas": total(members, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(members) - available),
    }
    if available >= wanted.least:
        enough = conditions.made(AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        enough = conditions.made(AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    return {
        "observedGeneration": deployment["metadata"]["generation"],
        **{name: count for name, count in counts.items() if count},
        "terminatingReplicas": total(members, "terminatingReplicas"),
        **({"collisionCount": collisions} if collisions is not None else {}),
        "conditions": conditions.put(told, enough, timestamp(now), "lastUpdateTime"),
    }


def is_complete(deployment: Object, status: Object) -> bool:
    """Whether all pods that are wanted are of the new version and serve, and there are no others."""
    wanted, counts = deployment["spec"]["replicas"], ("updatedReplicas", "replicas", "availableReplicas")
    return all(status.get(name, 0) == wanted for name in counts)


def with_progress(deployment: Object, family: Family, status: Object, now: float) -> Object:
    """The status, saying also how the deployment gets on."""
    told = status["conditions"]
    if deadline(deployment) is None:
        told = conditions.without(told, PROGRESSING)
    elif not _was_done(deployment, status):
        told = _with_news(deployment, family, status, told, now)
    trouble = _trouble(family)
    told = conditions.put(told, trouble, timestamp(now), "lastUpdateTime") if trouble else conditions.without(told, FAILURE)
    return {**status, "conditions": told}


def stuck_in(deployment: Object, status: Object, now: float) -> float | None:
    """In how many seconds the deployment is stuck, if nothing happens until then."""
    allowed, current = deadline(deployment), conditions.find(status["conditions"], PROGRESSING)
    if allowed is None or current is None or current["reason"] == STUCK or is_complete(deployment, status):
        return None
    return durations.until(seconds(current["lastUpdateTime"]) + allowed, now) + 1.0


def _was_done(deployment: Object, status: Object) -> bool:
    """Whether the new version had been reached before, and there is no other: then only the number of pods changes."""
    current = conditions.find((deployment.get("status") or {}).get("conditions") or [], PROGRESSING)
    is_uniform = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return is_uniform and current is not None and current["reason"] == DONE


def _with_news(deployment: Object, family: Family, status: Object, told: Conditions, now: float) -> Conditions:
    about = f'ReplicaSet "{family.new["metadata"]["name"]}"' if family.new is not None else "Deployment"
    if is_complete(deployment, status):
        return put(told, "True", DONE, f"{about} has successfully progressed.", now)
    if _has_progressed(deployment.get("status") or {}, status):
        # Said again each time something happens, so that the time of it is known.
        before = conditions.find(told, PROGRESSING)
        new = conditions.made(PROGRESSING, "True", "ReplicaSetUpdated", f"{about} is progressing.")
        added = conditions.put(conditions.without(told, PROGRESSING), new, timestamp(now), "lastUpdateTime")
        if before is not None and before["status"] == "True":
            added[-1]["lastTransitionTime"] = before["lastTransitionTime"]
        return added
    if _is_stuck(deployment, told, now):
        return put(told, "False", STUCK, f"{about} has timed out progressing.", now)
    return told


def _has_progressed(before: Object, status: Object) -> bool:
    def count(of: Object, name: str) -> int:
        return of.get(name) or 0

    def old(of: Object) -> int:
        return count(of, "replicas") - count(of, "updatedReplicas")

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(status) < old(before) or any(count(status, name) > count(before, name) for name in grown)


def _is_stuck(deployment: Object, told: Conditions, now: float) -> bool:
    allowed, current = deadline(deployment), conditions.find(told, PROGRESSING)
    if allowed is None or current is None or current["reason"] == DONE:
        return False
    return bool(current["reason"] == STUCK or seconds(current["lastUpdateTime"]) + allowed < now)


def _trouble(family: Family) -> Object | None:
    """What a ReplicaSet failed at, the new one's first."""
    for one in reversed(family.all):
        found = conditions.find((one.get("status") or {}).get("conditions") or [], FAILURE)
        if found is not None:
            return conditions.made(FAILURE, found["status"], found["reason"], found["message"])
    return None
