"""Validates CSIDrivers, CSINodes, CSIStorageCapacities and VolumeAttachments."""

from __future__ import annotations

from typing import Any

from probate.api import names, quantities
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, not_supported, required
from probate.kinds.shared.field_checks import (
    NEGATIVE,
    Problems,
    Value,
    check_choice,
    check_given,
    check_name,
    check_nonnegative,
    check_rule,
    check_unchanged,
    check_unique,
    child,
    each,
    is_same,
    objects,
    text,
    texts,
    without,
)
from probate.kinds.shared.selector_validation import check_label_selector

_SPEC = FieldPath("spec")
_MAX_NODE_ID = 256
_MODES = ("Ephemeral", "Persistent")
_MIN_TOKEN_SECONDS = 600
_MAX_TOKEN_SECONDS = 2**32
_MIN_PERIOD_SECONDS = 10


def check_node(node: Value) -> Problems:
    """Validates a CSINode: the drivers of a node."""
    seen: set[Any] = set()
    for driver, at in each(child(node, "spec"), _SPEC, "drivers"):
        yield from check_name(driver, at, "name", rule=names.validate_csi_driver)
        yield from check_unique(driver, at, "name", seen=seen)
        yield from check_given(driver, at, "nodeID")
        if len(text(driver, "nodeID")) > _MAX_NODE_ID:
            yield invalid(at / "nodeID", text(driver, "nodeID"), f"must be {_MAX_NODE_ID} characters or less")
        yield from check_nonnegative(child(driver, "allocatable"), at / "allocatable", "count")
        yield from _check_topology_keys(texts(driver, "topologyKeys"), at)


def check_driver(driver: Value) -> Problems:
    """Validates a CSIDriver."""
    spec = child(driver, "spec")
    yield from check_choice(spec, _SPEC, "fsGroupPolicy", supported=("ReadWriteOnceWithFSType", "File", "None"))
    for mode in texts(spec, "volumeLifecycleModes"):
        if mode not in _MODES:
            yield not_supported(_SPEC / "volumeLifecycleModes", mode, _MODES)
    yield from _check_tokens(spec)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _MIN_PERIOD_SECONDS:
        message = f"must be greater than or equal to {_MIN_PERIOD_SECONDS} seconds"
        yield invalid(_SPEC / "nodeAllocatableUpdatePeriodSeconds", period, message)


def create_attachment(attachment: Value) -> Problems:
    """Validates a new VolumeAttachment: the names of its driver and its volume."""
    yield from check_attachment(attachment)
    spec = child(attachment, "spec")
    if text(spec, "attacher"):
        yield from check_rule(spec["attacher"], _SPEC / "attacher", names.validate_csi_driver)
    volume = text(child(spec, "source"), "persistentVolumeName")
    if volume:
        yield from check_rule(volume, _SPEC / "source" / "persistentVolumeName", names.validate_dns_subdomain)


def check_attachment(attachment: Value) -> Problems:
    """Validates a VolumeAttachment."""
    spec = child(attachment, "spec")
    yield from check_given(spec, _SPEC, "attacher")
    yield from check_rule(text(spec, "nodeName"), _SPEC / "nodeName", names.validate_dns_subdomain)
    source, message = child(spec, "source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    is_named, is_inline = source.get("persistentVolumeName") is not None, source.get("inlineVolumeSpec") is not None
    if is_named and is_inline:
        yield forbidden(_SPEC / "source", message)
    elif not is_named and not is_inline:
        yield required(_SPEC / "source", message)
    elif is_named:
        yield from check_given(source, _SPEC / "source", "persistentVolumeName")


def check_capacity(capacity: Value) -> Problems:
    """Validates a CSIStorageCapacity."""
    yield from check_label_selector(capacity.get("nodeTopology"), FieldPath("nodeTopology"))
    yield from check_rule(text(capacity, "storageClassName"), FieldPath("storageClassName"), names.validate_dns_subdomain)
    if capacity.get("capacity") is not None and quantities.value_or_zero(capacity["capacity"]) < 0:
        yield invalid(FieldPath("capacity"), capacity["capacity"], NEGATIVE)


def update_node(new: Value, old: Value) -> Problems:
    """Validates that a driver in a changed CSINode does not change, except for its number of allocatable volumes."""
    before = {text(driver, "name"): driver for driver in objects(child(old, "spec"), "drivers")}
    for driver in objects(child(new, "spec"), "drivers"):
        known = before.get(text(driver, "name"))
        if known is not None:
            yield from check_unchanged(without(driver, "allocatable"), without(known, "allocatable"), _SPEC / "drivers")


def update_driver(new: Value, old: Value) -> Problems:
    """Validates that `attachRequired` and the lifecycle modes do not change. (The path of the first is Kubernetes' own.)"""
    for field, message in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        yield from check_unchanged(child(new, "spec").get(field), child(old, "spec").get(field), _SPEC / message)


def update_attachment(new: Value, old: Value) -> Problems:
    """Validates that the spec of an attachment does not change."""
    if not is_same(new.get("spec"), old.get("spec")):
        yield invalid(_SPEC, new.get("spec"), "field is immutable")


def update_capacity(new: Value, old: Value) -> Problems:
    """Validates that the topology and the class of a capacity do not change."""
    for field in ("nodeTopology", "storageClassName"):
        yield from check_unchanged(new.get(field), old.get(field), FieldPath(field))


def _check_topology_keys(keys: list[str], path: FieldPath) -> Problems:
    """Validates topology keys. All problems are reported with the path of the driver, as in Kubernetes."""
    seen: set[str] = set()
    for key in keys:
        if not key:
            yield required(path, "a topology key is empty")
        if key in seen:
            yield duplicate(path, key)
        seen.add(key)
        yield from check_rule(key, path, names.validate_qualified_name)


def _check_tokens(spec: Value) -> Problems:
    """Validates token requests: each audience is unique; one may be empty."""
    seen: set[str] = set()
    for request, at in each(spec, _SPEC, "tokenRequests"):
        audience, seconds = text(request, "audience"), request.get("expirationSeconds")
        if audience in seen:
            yield duplicate(at / "audience", audience)
        elif seconds is not None and not _MIN_TOKEN_SECONDS <= seconds <= _MAX_TOKEN_SECONDS:
            message = f"may not specify a duration less than {_MIN_TOKEN_SECONDS} seconds or larger than 2^32 seconds"
            yield invalid(at / "expirationSeconds", seconds, message)
        seen.add(audience)
