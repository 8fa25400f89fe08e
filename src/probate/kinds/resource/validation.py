"""ResourceClaim, ResourceClaimTemplate and DeviceClass.

What claims and templates ask for never changes, so an update is looked at for nothing else. A class may change: what it leaves as
it is was fine when it came, and may be more than what may come now.
"""

from __future__ import annotations

from typing import Any

from probate.api import metadata, names
from probate.api.field_errors import Path, invalid
from probate.kinds.resource.bounded_lists import check_items
from probate.kinds.resource.device_requests import check_claim, devices_of
from probate.kinds.resource.device_selectors import check_selectors
from probate.kinds.resource.opaque_parameters import MAX_CONFIGURATIONS, check_configuration
from probate.kinds.shared.field_checks import IMMUTABLE, Problems, Value, child, is_same

_SPEC = Path("spec")


def create_claim(claim: Value) -> Problems:
    """A ResourceClaim."""
    yield from check_claim(devices_of(claim), _SPEC / "devices")


def create_template(template: Value) -> Problems:
    """A ResourceClaimTemplate."""
    spec = child(template, "spec")
    meta, path = child(spec, "metadata"), _SPEC / "metadata"
    yield from metadata.check_annotations(meta.get("annotations"), path / "annotations")
    yield from metadata.check_labels(meta.get("labels"), path / "labels")
    yield from check_claim(devices_of(spec), _SPEC / "spec" / "devices")


def create_class(class_: Value) -> Problems:
    """A DeviceClass."""
    yield from _check_class(class_, None)


def unchecked(_: Value) -> Problems:
    """What an update looks at is said by how it differs."""
    yield from ()


def update_spec(new: Value, old: Value) -> Problems:
    """What a claim asks for stays, and so does what a template makes."""
    if not is_same(new.get("spec"), old.get("spec")):
        yield invalid(_SPEC, new.get("spec"), IMMUTABLE)


def update_class(new: Value, old: Value) -> Problems:
    """A DeviceClass that changes."""
    yield from _check_class(new, old)


def _check_class(class_: Value, old: Value | None) -> Problems:
    spec, before = child(class_, "spec"), child(old or {}, "spec")
    are_new, is_new = (old is None or not is_same(spec.get(field), before.get(field)) for field in ("selectors", "config"))

    def config(one: Any, at: Path) -> Problems:
        return check_configuration(one, at, is_new=is_new)

    yield from check_selectors(spec, _SPEC, are_new=are_new)
    yield from check_items(spec, _SPEC, "config", MAX_CONFIGURATIONS, config)
    name = spec.get("extendedResourceName")
    if name is not None and not _is_extended(name):
        yield invalid(_SPEC / "extendedResourceName", name, "must be a valid extended resource name")


def _is_extended(name: str) -> bool:
    """Whether it is the name of a resource that is nobody's own, neither Kubernetes' nor a quota's."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")
