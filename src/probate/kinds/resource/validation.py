"""Validates ResourceClaims, ResourceClaimTemplates and DeviceClasses.

The spec of claims and templates never changes, so an update checks nothing else. A DeviceClass may change: unchanged parts were
valid when they were written, and may exceed the current limits.
"""

from __future__ import annotations

from typing import Any

from probate.api import metadata, names
from probate.api.field_errors import FieldPath, invalid
from probate.kinds.resource.bounded_lists import check_items
from probate.kinds.resource.device_requests import check_claim, devices_of
from probate.kinds.resource.device_selectors import check_selectors
from probate.kinds.resource.opaque_parameters import MAX_CONFIGURATIONS, check_configuration
from probate.kinds.shared.field_checks import IMMUTABLE, Problems, Value, child, is_same

_SPEC = FieldPath("spec")


def create_claim(claim: Value) -> Problems:
    """Validates a ResourceClaim."""
    yield from check_claim(devices_of(claim), _SPEC / "devices")


def create_template(template: Value) -> Problems:
    """Validates a ResourceClaimTemplate."""
    spec = child(template, "spec")
    meta, path = child(spec, "metadata"), _SPEC / "metadata"
    yield from metadata.validate_annotations(meta.get("annotations"), path / "annotations")
    yield from metadata.validate_labels(meta.get("labels"), path / "labels")
    yield from check_claim(devices_of(spec), _SPEC / "spec" / "devices")


def create_class(class_: Value) -> Problems:
    """Validates a DeviceClass."""
    yield from _check_class(class_, None)


def accept_any(_: Value) -> Problems:
    """Accepts any object: an update is checked only by its differences."""
    yield from ()


def update_spec(new: Value, old: Value) -> Problems:
    """Validates that the spec of a claim or a template does not change."""
    if not is_same(new.get("spec"), old.get("spec")):
        yield invalid(_SPEC, new.get("spec"), IMMUTABLE)


def update_class(new: Value, old: Value) -> Problems:
    """Validates a changed DeviceClass."""
    yield from _check_class(new, old)


def _check_class(class_: Value, old: Value | None) -> Problems:
    spec, before = child(class_, "spec"), child(old or {}, "spec")
    are_new, is_new = (old is None or not is_same(spec.get(field), before.get(field)) for field in ("selectors", "config"))

    def config(one: Any, at: FieldPath) -> Problems:
        return check_configuration(one, at, is_new=is_new)

    yield from check_selectors(spec, _SPEC, are_new=are_new)
    yield from check_items(spec, _SPEC, "config", most=MAX_CONFIGURATIONS, check=config)
    name = spec.get("extendedResourceName")
    if name is not None and not _is_extended(name):
        yield invalid(_SPEC / "extendedResourceName", name, "must be a valid extended resource name")


def _is_extended(name: str) -> bool:
    """Reports whether the name is that of an extended resource, reserved neither by Kubernetes nor for quotas."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not names.validate_qualified_name(f"requests.{name}")
