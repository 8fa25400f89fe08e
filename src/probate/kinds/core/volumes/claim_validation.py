"""Validates the spec of a claim, in a PersistentVolumeClaim, a StatefulSet or an ephemeral volume of a Pod."""

from __future__ import annotations

from collections.abc import Iterable

from probate.api import metadata, names, quantities
from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported, required
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_optional_name,
    child,
    is_same,
    text,
    texts,
    without,
)
from probate.kinds.shared.selector_validation import check_label_selector

MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def check_claim_spec(spec: Value, path: FieldPath) -> Problems:
    """Validates the spec of a claim."""
    yield from check_access_modes(texts(spec, "accessModes"), path / "accessModes")
    yield from check_label_selector(spec.get("selector"), path / "selector")
    amount = child(child(spec, "resources"), "requests").get("storage")
    if amount is None:
        yield required(path / "resources" @ "storage")
    elif quantities.value_or_zero(amount) <= 0:
        yield invalid(path / "resources" @ "storage", amount, "must be greater than zero")
    yield from check_optional_name(spec, path, "storageClassName", rule=names.validate_dns_subdomain)
    yield from check_optional_name(spec, path, "volumeAttributesClassName", rule=names.validate_dns_subdomain)
    yield from check_choice(spec, path, "volumeMode", supported=VOLUME_MODES)
    yield from _check_data_sources(spec, path)


def check_claim_template(template: Value, path: FieldPath) -> Problems:
    """Validates the template of an ephemeral claim: its metadata may have labels and annotations only."""
    meta = child(template, "metadata")
    yield from metadata.validate_annotations(meta.get("annotations"), path / "metadata" / "annotations")
    yield from metadata.validate_labels(meta.get("labels"), path / "metadata" / "labels")
    given = [field for field, value in meta.items() if value and field not in {"annotations", "labels"}]
    yield from (forbidden(path / "metadata" / field, "cannot be set") for field in given)
    yield from check_claim_spec(child(template, "spec"), path / "spec")


def check_access_modes(modes: Iterable[str], path: FieldPath) -> Problems:
    """Validates access modes: at least one, and ReadWriteOncePod only alone."""
    modes = list(modes)
    if not modes:
        yield required(path, "at least 1 access mode is required")
    yield from (not_supported(path, mode, MODES) for mode in modes if mode not in MODES)
    if "ReadWriteOncePod" in modes and len(set(modes) & set(MODES)) > 1:
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _check_data_sources(spec: Value, path: FieldPath) -> Problems:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            yield from _check_data_source(spec[field], path / field)
    if source is None or reference is None:
        return
    if text(reference, "namespace"):
        yield invalid(path, source, "dataSource may not be specified when dataSourceRef.namespace is specified")
    elif not is_same(source, without(reference, "namespace")):
        yield invalid(path, source, "dataSource must match dataSourceRef")


def _check_data_source(source: Value, path: FieldPath) -> Problems:
    yield from check_given(source, path, "name", "kind")
    if not text(source, "apiGroup") and text(source, "kind") != "PersistentVolumeClaim":
        yield invalid(path, text(source, "kind"), "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    yield from check_optional_name(source, path, "apiGroup", rule=names.validate_dns_subdomain)
    yield from check_optional_name(source, path, "namespace", rule=names.validate_dns_label)
