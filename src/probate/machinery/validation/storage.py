"""Storage that Pods ask for and storage there is: PersistentVolumeClaims and PersistentVolumes."""

from __future__ import annotations

from collections.abc import Iterable

from probate.machinery import names
from probate.machinery.problems import Path, forbidden, invalid, not_supported, required
from probate.machinery.validation import quantities
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_optional_name,
    check_unchanged,
    child,
    is_same,
    text,
    texts,
    without,
)
from probate.machinery.validation.pods import volumes
from probate.machinery.validation.selectors import check_label_selector, check_node_selector

_SPEC = Path("spec")
_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_NOT_SOURCES = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def check_claim(claim: Value) -> Problems:
    """A PersistentVolumeClaim."""
    yield from check_claim_spec(child(claim, "spec"), _SPEC)


def check_claim_spec(spec: Value, path: Path) -> Problems:
    """What is claimed, by itself or in a StatefulSet's template."""
    yield from _check_access_modes(texts(spec, "accessModes"), path / "accessModes")
    yield from check_label_selector(spec.get("selector"), path / "selector")
    amount = child(child(spec, "resources"), "requests").get("storage")
    if amount is None:
        yield required(path / "resources" @ "storage")
    elif quantities.value_of(amount) <= 0:
        yield invalid(path / "resources" @ "storage", amount, "must be greater than zero")
    yield from check_optional_name(spec, path, "storageClassName", names.dns_subdomain)
    yield from check_optional_name(spec, path, "volumeAttributesClassName", names.dns_subdomain)
    yield from check_choice(spec, path, "volumeMode", _VOLUME_MODES)
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            yield from _check_data_source(spec[field], path / field)


def check_volume(volume: Value) -> Problems:
    """A PersistentVolume."""
    spec = child(volume, "spec")
    yield from _check_access_modes(texts(spec, "accessModes"), _SPEC / "accessModes")
    yield from _check_capacity(child(spec, "capacity"), _SPEC / "capacity")
    yield from volumes.check_source(_source(spec), _SPEC)
    yield from check_choice(spec, _SPEC, "persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain"))
    yield from check_choice(spec, _SPEC, "volumeMode", _VOLUME_MODES)
    yield from check_optional_name(spec, _SPEC, "storageClassName", names.dns_subdomain)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        yield from _check_affinity(affinity, _SPEC / "nodeAffinity")
    elif spec.get("local") is not None:
        yield required(_SPEC / "nodeAffinity", "Local volume requires node affinity")


def update_claim(new: Value, old: Value) -> Problems:
    """A claim's spec stays, but it is bound once, gets a class once, and may grow when bound."""
    spec, before = child(new, "spec"), child(old, "spec")
    if not is_same(_fixed_claim(spec, before, new), _fixed_claim(before, before, new)):
        detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        yield forbidden(_SPEC, detail)
    requested, had = (quantities.value_of(child(child(one, "resources"), "requests").get("storage")) for one in (spec, before))
    if requested < had and requested < quantities.value_of(child(child(old, "status"), "capacity").get("storage") or "9E"):
        yield forbidden(_SPEC / "resources" / "requests" / "storage", "field can not be less than status.capacity")


def update_volume(new: Value, old: Value) -> Problems:
    """Where a volume's bytes are stays, and so does how they are seen."""
    spec, before = child(new, "spec"), child(old, "spec")
    if not is_same(_source(spec), _source(before)):
        yield forbidden(_SPEC / "persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
    yield from check_unchanged(spec.get("volumeMode"), before.get("volumeMode"), _SPEC / "volumeMode")
    if before.get("nodeAffinity") is not None:
        yield from check_unchanged(spec.get("nodeAffinity"), before["nodeAffinity"], _SPEC / "nodeAffinity")


def _check_access_modes(modes: Iterable[str], path: Path) -> Problems:
    modes = list(modes)
    if not modes:
        yield required(path, "at least 1 access mode is required")
    yield from (not_supported(path, mode, _MODES) for mode in modes if mode not in _MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _check_data_source(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "name", "kind")
    if not text(source, "apiGroup") and text(source, "kind") not in {"", "PersistentVolumeClaim"}:
        yield invalid(path, text(source, "kind"), "must be 'PersistentVolumeClaim' when referencing the default apiGroup")


def _check_capacity(capacity: Value, path: Path) -> Problems:
    if not capacity:
        yield required(path)
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported(path, list(capacity), ["storage"])
    for name, amount in capacity.items():
        if quantities.value_of(amount) <= 0:
            yield invalid(path @ name, amount, "must be greater than zero")


def _check_affinity(affinity: Value, path: Path) -> Problems:
    if affinity.get("required") is None:
        yield required(path / "required", "must specify required node constraints")
    else:
        yield from check_node_selector(affinity["required"], path / "required")


def _source(spec: Value) -> Value:
    return {field: value for field, value in spec.items() if field not in _NOT_SOURCES}


def _fixed_claim(spec: Value, before: Value, claim: Value) -> Value:
    """What of a claim's spec may not change, seen from what it was before."""
    once = [field for field in ("volumeName", "storageClassName") if not before.get(field)]
    if text(child(claim, "status"), "phase") == "Bound":
        once += ["resources", "volumeAttributesClassName"]
    return without(spec, *once)
