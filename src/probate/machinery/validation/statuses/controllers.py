"""A ReplicationController's status: numbers of Pods that add up."""

from __future__ import annotations

from probate.machinery.problems import Path, invalid
from probate.machinery.validation.fields import Problems, Value, check_nonnegative, child

_STATUS = Path("status")
_PARTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def check_replication_controller_status(new: Value, old: Value) -> Problems:
    """No number is below zero, and none is over that of which it counts a part."""
    status = child(new, "status")
    yield from check_nonnegative(status, _STATUS, "replicas", *_PARTS, "observedGeneration")
    for field in _PARTS:
        if _number(status, field) > _number(status, "replicas"):
            yield invalid(_STATUS / field, _number(status, field), "cannot be greater than status.replicas")
    if _number(status, "availableReplicas") > _number(status, "readyReplicas"):
        yield invalid(_STATUS / "availableReplicas", _number(status, "availableReplicas"), "cannot be greater than readyReplicas")


def _number(status: Value, field: str) -> int:
    return int(status.get(field) or 0)
