"""Validates the status of PersistentVolumeClaims (capacity, resizing) and of VolumeAttachments. Field paths are Kubernetes' own."""

from __future__ import annotations

from probate.api import names, quantities
from probate.api.field_errors import FieldError, FieldPath, invalid, not_supported, too_long
from probate.kinds.shared.field_checks import NEGATIVE, Problems, Value, check_nonnegative, check_rule, child, text

_STATUS = FieldPath("status")
_MAX_METADATA_BYTES = 256 * 1024
_MAX_ERROR_BYTES = 1024
_GROWING = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)


def check_attachment_status(new: Value, old: Value) -> Problems:
    """Validates a VolumeAttachment written through `status`."""
    status = child(new, "status")
    metadata = child(status, "attachmentMetadata")
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in metadata.items()) > _MAX_METADATA_BYTES:
        yield too_long(_STATUS / "attachmentMetadata", _MAX_METADATA_BYTES)
    for field in ("attachError", "detachError"):
        error = child(status, field)
        if len(text(error, "message").encode()) > _MAX_ERROR_BYTES:
            yield too_long(_STATUS / field / "message", _MAX_ERROR_BYTES)
        yield from check_nonnegative(error, _STATUS / field, "errorCode")


def check_claim_status(new: Value, old: Value) -> Problems:
    """Validates the status of a claim."""
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
        if quantities.value_or_zero(amount) < 0:
            yield invalid(_STATUS / field @ name, amount, NEGATIVE)


def _check_key(name: str, path: FieldPath) -> Problems:
    """Validates a resource name: of Kubernetes' own resources, only storage can be allocated."""
    found: list[FieldError] = list(check_rule(name, path, names.validate_qualified_name))
    yield from found
    if not found and ("/" not in name or name.startswith("kubernetes.io/")) and name != "storage":
        yield not_supported(path, name, ["storage"])
