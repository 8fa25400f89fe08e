"""Conditions in the status of an object: at most one of each type."""

from __future__ import annotations

from probate.api.objects import Object

Conditions = list[Object]


def find(conditions: Conditions, type_: str) -> Object | None:
    """Returns the condition of this type."""
    return next((condition for condition in conditions if condition["type"] == type_), None)


def is_true(conditions: Conditions, type_: str) -> bool:
    """Whether the condition of this type exists and is True."""
    return any(condition["type"] == type_ and condition["status"] == "True" for condition in conditions)


def new_condition(type_: str, status: str, *, reason: str, message: str) -> Object:
    """Returns a condition without its times."""
    return {"type": type_, "status": status, "reason": reason, "message": message}


def for_pod(pod: Object, condition: Object) -> Object:
    """Returns the condition with the generation of the pod that it is about."""
    generation = pod["metadata"].get("generation")
    return {**condition, "observedGeneration": generation} if generation else condition


def replace(conditions: Conditions, new: Object, now: str, *times: str) -> Conditions:
    """Returns the conditions with the new one in place of that of its type.

    A condition with the same status and reason stays as it is. `times` are the fields that are set to `now` even if the status
    stays.
    """
    old = find(conditions, new["type"])
    if old is not None and (old["status"], old.get("reason")) == (new["status"], new.get("reason")):
        return conditions
    since = old.get("lastTransitionTime") if old is not None and old["status"] == new["status"] else None
    return [*without(conditions, new["type"]), {**new, **dict.fromkeys(times, now), "lastTransitionTime": since or now}]


def without(conditions: Conditions, type_: str) -> Conditions:
    """Returns the conditions of other types."""
    return [condition for condition in conditions if condition["type"] != type_]
