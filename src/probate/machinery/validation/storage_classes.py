"""How storage is made and by whom: StorageClass, CSIDriver, CSINode, VolumeAttachment and their like."""

from __future__ import annotations

from typing import Any

from probate.machinery import names
from probate.machinery.problems import Path, forbidden, invalid, required, too_long
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_name,
    check_rule,
    check_unchanged,
    check_unique,
    child,
    each,
    is_same,
    text,
)

_ROOT = Path()
_SPEC = Path("spec")
_MAX_PARAMETERS = 512
_MAX_PARAMETERS_BYTES = 256 * 1024


def check_storage_class(class_: Value) -> Problems:
    """A StorageClass."""
    yield from _check_provisioner(class_, "provisioner")
    yield from _check_parameters(child(class_, "parameters"), Path("parameters"))
    yield from check_choice(class_, _ROOT, "reclaimPolicy", ("Delete", "Retain"))
    yield from check_choice(class_, _ROOT, "volumeBindingMode", ("Immediate", "WaitForFirstConsumer"))


def check_attributes_class(class_: Value) -> Problems:
    """A VolumeAttributesClass."""
    yield from _check_provisioner(class_, "driverName")
    if not child(class_, "parameters"):
        yield required(Path("parameters"), "must contain at least one key/value pair")
    yield from _check_parameters(child(class_, "parameters"), Path("parameters"))


def check_csi_node(node: Value) -> Problems:
    """A CSINode: the drivers that a node has."""
    seen: set[Any] = set()
    for driver, at in each(child(node, "spec"), _SPEC, "drivers"):
        yield from check_name(driver, at, "name", names.csi_driver)
        yield from check_unique(driver, at, "name", seen)
        yield from check_given(driver, at, "nodeID")


def check_csi_driver(driver: Value) -> Problems:
    """A CSIDriver."""
    spec = child(driver, "spec")
    yield from check_choice(spec, _SPEC, "fsGroupPolicy", ("ReadWriteOnceWithFSType", "File", "None"))


def check_attachment(attachment: Value) -> Problems:
    """A VolumeAttachment."""
    spec = child(attachment, "spec")
    yield from check_given(spec, _SPEC, "attacher")
    yield from check_rule(text(spec, "nodeName"), _SPEC / "nodeName", names.dns_subdomain)
    source = child(spec, "source")
    if not text(source, "persistentVolumeName") and source.get("inlineVolumeSpec") is None:
        yield required(_SPEC / "source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")


def check_capacity(capacity: Value) -> Problems:
    """A CSIStorageCapacity."""
    yield from check_name(capacity, _ROOT, "storageClassName", names.dns_subdomain)


def update_storage_class(new: Value, old: Value) -> Problems:
    """What a class means stays: volumes were made by it."""
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if not is_same(new.get(field), old.get(field)):
            yield forbidden(Path(field), f"updates to {field} are forbidden.")
    yield from check_unchanged(new.get("volumeBindingMode"), old.get("volumeBindingMode"), Path("volumeBindingMode"))


def update_attributes_class(new: Value, old: Value) -> Problems:
    """What a class means stays."""
    for field in ("driverName", "parameters"):
        if not is_same(new.get(field), old.get(field)):
            yield forbidden(Path(field), f"updates to {field} are forbidden.")


def update_csi_driver(new: Value, old: Value) -> Problems:
    """How a driver attaches and where its volumes live stays."""
    for field in ("attachRequired", "volumeLifecycleModes"):
        yield from check_unchanged(child(new, "spec").get(field), child(old, "spec").get(field), _SPEC / field)


def update_attachment(new: Value, old: Value) -> Problems:
    """What is attached to which node stays."""
    if not is_same(new.get("spec"), old.get("spec")):
        yield invalid(_SPEC, new.get("spec"), "field is immutable")


def _check_provisioner(class_: Value, field: str) -> Problems:
    value = text(class_, field)
    yield from check_rule(value.lower(), Path(field), names.qualified_name) if value else [required(Path(field))]


def _check_parameters(parameters: Value, path: Path) -> Problems:
    if len(parameters) > _MAX_PARAMETERS:
        yield too_long(path, _MAX_PARAMETERS)
        return
    if any(not key for key in parameters):
        yield invalid(path, "", "field can not be empty.")
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in parameters.items()) > _MAX_PARAMETERS_BYTES:
        yield too_long(path, _MAX_PARAMETERS_BYTES)
