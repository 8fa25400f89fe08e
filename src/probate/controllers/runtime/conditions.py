"""Conditions: what an object's status says about it, one of each type."""

from __future__ import annotations

from probate.client.objects import Object

Conditions = list[Object]


def find(conditions: Conditions, type_: str) -> Object | None:
    """The condition of this type."""
    return next((one for one in conditions if one["type"] == type_), None)


def is_true(conditions: Conditions, type_: str) -> bool:
    """Whether there is such a condition, and it holds."""
    return any(one["type"] == type_ and one["status"] == "True" for one in conditions)


def made(type_: str, status: str, reason: str, message: str) -> Object:
    """A new condition, without its times."""
    return {"type": type_, "status": status, "reason": reason, "message": message}


def of_pod(pod: Object, condition: Object) -> Object:
    """The condition of a pod, which says which version of the pod it is about."""
    generation = pod["metadata"].get("generation")
    return {**condition, "observedGeneration": generation} if generation else condition


def put(conditions: Conditions, new: Object, now: str, *times: str) -> Conditions:
    """The conditions with the new one in the place of its type. `times` are those that are `now` even if the status stays.

    One that is there with the same status and reason stays as it is.
    """
    old = find(conditions, new["type"])
    if old is not None and (old["status"], old.get("reason")) == (new["status"], new.get("reason")):
        return conditions
    since = old.get("lastTransitionTime") if old is not None and old["status"] == new["status"] else None
    return [*without(conditions, new["type"]), {**new, **dict.fromkeys(times, now), "lastTransitionTime": since or now}]


def without(conditions: Conditions, type_: str) -> Conditions:
    """The conditions of other types."""
    return [one for one in conditions if one["type"] != type_]
