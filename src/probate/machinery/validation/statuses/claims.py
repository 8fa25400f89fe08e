"""A PersistentVolumeClaim's status: what it got, and how far its growing is. Places are spelt as Kubernetes reports them."""

from __future__ import annotations

from probate.machinery import names
from probate.machinery.problems import Path, Problem, invalid, not_supported
from probate.machinery.validation import quantities
from probate.machinery.validation.fields import NEGATIVE, Problems, Value, check_rule, child

_STATUS = Path("status")
_GROWING = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)


def check_claim_status(new: Value, old: Value) -> Problems:
    """The status of a claim."""
    status = child(new, "status")
    yield from _check_amounts(status, "capacity")
    at = _STATUS / "allocatedResourceStatus"
    for name, state in child(status, "allocatedResourceStatuses").items():
        yield from _check_key(name, at)
        if state not in _GROWING:
            yield not_supported(at, name, _GROWING)
    for name in child(status, "allocatedResources"):
        yield from _check_key(name, _STATUS / "allocatedResources")
    yield from _check_amounts(status, "allocatedResources")


def _check_amounts(status: Value, field: str) -> Problems:
    for name, amount in child(status, field).items():
        if quantities.value_of(amount) < 0:
            yield invalid(_STATUS / field @ name, amount, NEGATIVE)


def _check_key(name: str, path: Path) -> Problems:
    """Of what is Kubernetes' own, only storage is allocated."""
    found: list[Problem] = list(check_rule(name, path, names.qualified_name))
    yield from found
    if not found and ("/" not in name or name.startswith("kubernetes.io/")) and name != "storage":
        yield not_supported(path, name, ["storage"])
