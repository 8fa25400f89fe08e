"""Validates PersistentVolumeClaims and PersistentVolumes, and which of their fields may change."""

from __future__ import annotations

import posixpath
from typing import Any

from probate.api import names, quantities
from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported, required
from probate.kinds.core.volumes.claim_validation import VOLUME_MODES, check_access_modes, check_claim_spec
from probate.kinds.core.volumes.sources import SOURCES
from probate.kinds.core.volumes.volume_source import check_source
from probate.kinds.shared.field_checks import (
    IMMUTABLE,
    Problems,
    Value,
    check_choice,
    check_optional_name,
    check_unchanged,
    child,
    is_same,
    text,
    texts,
    without,
)
from probate.kinds.shared.selector_validation import check_node_selector

_SPEC = FieldPath("spec")
_POLICY = "persistentVolumeReclaimPolicy"
_CLASS = "volume.beta.kubernetes.io/storage-class"
_STABLE = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def check_claim(claim: Value) -> Problems:
    """Validates a PersistentVolumeClaim."""
    yield from check_claim_spec(child(claim, "spec"), _SPEC)


def check_volume(volume: Value) -> Problems:
    """Validates a PersistentVolume."""
    spec = child(volume, "spec")
    yield from check_access_modes(texts(spec, "accessModes"), _SPEC / "accessModes")
    yield from _check_capacity(child(spec, "capacity"), _SPEC / "capacity")
    yield from check_source(spec, _SPEC, SOURCES)
    yield from _check_reclaiming(spec)
    yield from check_choice(spec, _SPEC, "volumeMode", supported=VOLUME_MODES)
    yield from check_optional_name(spec, _SPEC, "storageClassName", rule=names.validate_dns_subdomain)
    yield from _check_attributes_class(spec)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        yield from _check_affinity(affinity, _SPEC / "nodeAffinity")
    elif spec.get("local") is not None:
        yield required(_SPEC / "nodeAffinity", "Local volume requires node affinity")


def update_claim(new: Value, old: Value) -> Problems:
    """Validates that a claim's spec does not change, with three exceptions.

    It is bound once, gets a storage class once, and may grow when it is bound. Field paths are Kubernetes' own.
    """
    spec, before = child(new, "spec"), child(old, "spec")
    if not is_same(_fixed_claim(new, old), _fixed_claim(old, old)):
        detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        yield forbidden(_SPEC, detail)
    yield from _check_class_kept(new, old)
    requested, had = (quantities.value_or_zero(child(child(one, "resources"), "requests").get("storage")) for one in (spec, before))
    if requested < had and requested <= quantities.value_or_zero(child(child(old, "status"), "capacity").get("storage")):
        yield forbidden(_SPEC / "resources" / "requests" / "storage", "field can not be less than status.capacity")
    yield from check_unchanged(spec.get("volumeMode"), before.get("volumeMode"), FieldPath("volumeMode"))
    yield from _check_attributes_kept(spec, before, is_claim=True)


def update_volume(new: Value, old: Value) -> Problems:
    """Validates that a volume keeps its source and its volume mode. Field paths are Kubernetes' own, some without `spec`."""
    spec, before = child(new, "spec"), child(old, "spec")
    if not is_same(_fixed_source(spec, before), _source(before)):
        yield forbidden(_SPEC / "persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
    yield from check_unchanged(spec.get("volumeMode"), before.get("volumeMode"), FieldPath("volumeMode"))
    affinity, had = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if had is not None and not _is_same_affinity(affinity, had):
        yield invalid(FieldPath("nodeAffinity"), affinity, f"{IMMUTABLE}, except for updating from beta label to GA")
    yield from _check_attributes_kept(spec, before, is_claim=False)


def _check_reclaiming(spec: Value) -> Problems:
    yield from check_choice(spec, _SPEC, _POLICY, supported=("Delete", "Recycle", "Retain"))
    root = text(child(spec, "hostPath"), "path")
    if text(spec, _POLICY) == "Recycle" and root and posixpath.normpath(root).strip("/") == "":
        yield forbidden(_SPEC / _POLICY, "may not be 'recycle' for a hostPath mount of '/'")


def _check_attributes_class(spec: Value) -> Problems:
    name = spec.get("volumeAttributesClassName")
    if name is None:
        return
    if not name:
        yield required(_SPEC / "volumeAttributesClassName", "an empty string is disallowed")
    yield from check_optional_name(spec, _SPEC, "volumeAttributesClassName", rule=names.validate_dns_subdomain)
    if spec.get("csi") is None:
        yield required(_SPEC / "csi", "has to be specified when using volumeAttributesClassName")


def _check_capacity(capacity: Value, path: FieldPath) -> Problems:
    if not capacity:
        yield required(path)
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported(path, list(capacity), ["storage"])
    for name, amount in capacity.items():
        if quantities.value_or_zero(amount) <= 0:
            yield invalid(path @ name, amount, "must be greater than zero")


def _check_affinity(affinity: Value, path: FieldPath) -> Problems:
    if affinity.get("required") is None:
        yield required(path / "required", "must specify required node constraints")
    else:
        yield from check_node_selector(affinity["required"], path / "required")


def _check_class_kept(new: Value, old: Value) -> Problems:
    """Validates that a claim's storage class in the old annotation does not change, unless it moves to the field."""
    now, before = (child(child(one, "metadata"), "annotations").get(_CLASS) or "" for one in (new, old))
    if now == before:
        return
    is_field_now = child(old, "spec").get("storageClassName") is None and child(new, "spec").get("storageClassName") == before
    if not (before and not now and is_field_now):
        yield invalid(FieldPath("metadata") / "annotations" / _CLASS, now, IMMUTABLE)


def _check_attributes_kept(spec: Value, before: Value, *, is_claim: bool) -> Problems:
    """Validates that a VolumeAttributesClass, once set, may be replaced but not removed."""
    field, now = _SPEC / "volumeAttributesClassName", spec.get("volumeAttributesClassName")
    if before.get("volumeAttributesClassName") is None:
        return
    if now is None or (is_claim and not now):
        yield forbidden(field, "update from non-nil value to nil or an empty string is forbidden")


def _source(spec: Value) -> Value:
    return {name: spec[name] for name in SOURCES if spec.get(name) is not None}


def _fixed_source(spec: Value, before: Value) -> Value:
    """Returns the source in comparable form: the Secret for expansion may be added later."""
    source = _source(spec)
    csi, had = source.get("csi"), before.get("csi")
    if csi is not None and had is not None and had.get("controllerExpandSecretRef") is None:
        source["csi"] = without(csi, "controllerExpandSecretRef")
    return source


def _is_same_affinity(affinity: Any, had: Any) -> bool:
    """Reports whether both select the same nodes. Deprecated labels may have been replaced by their final names."""
    if isinstance(affinity, dict) and isinstance(had, dict):
        keys = affinity.keys() | had.keys()
        return all(_is_same_affinity(affinity.get(key), had.get(key)) or _is_renamed(key, affinity, had) for key in keys)
    if isinstance(affinity, list) and isinstance(had, list) and len(affinity) == len(had):
        return all(map(_is_same_affinity, affinity, had))
    return is_same(affinity, had)


def _is_renamed(key: str, affinity: Value, had: Value) -> bool:
    return key == "key" and _STABLE.get(had.get("key") or "") == affinity.get("key")


def _fixed_claim(claim: Value, old: Value) -> Value:
    """Returns the fields of a claim's spec that may not change, given the old claim."""
    spec, before = child(claim, "spec"), child(old, "spec")
    fixed = dict(spec)
    if not before.get("volumeName"):
        fixed.pop("volumeName", None)
    if before.get("storageClassName") is not None:
        fixed["storageClassName"] = repr(spec.get("storageClassName"))  # an empty class differs from an absent one
    elif spec.get("storageClassName") == child(child(old, "metadata"), "annotations").get(_CLASS, spec.get("storageClassName")):
        fixed.pop("storageClassName", None)
    if text(child(old, "status"), "phase") == "Bound":
        requests = without(child(child(spec, "resources"), "requests"), "storage")
        fixed["resources"] = {**child(spec, "resources"), "requests": requests}
        fixed.pop("volumeAttributesClassName", None)
    return fixed
