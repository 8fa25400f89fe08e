"""Validates StorageClasses and VolumeAttributesClasses."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, required, too_long
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_rule,
    check_unchanged,
    child,
    each,
    is_same,
    objects,
    text,
    texts,
)

_ROOT = FieldPath()
_MAX_PARAMETERS = 512
_MAX_PARAMETERS_BYTES = 256 * 1024


def check_storage_class(class_: Value) -> Problems:
    """Validates a StorageClass."""
    yield from _check_provisioner(class_, "provisioner")
    yield from _check_parameters(child(class_, "parameters"), FieldPath("parameters"))
    yield from check_choice(class_, _ROOT, "reclaimPolicy", supported=("Delete", "Retain"))
    yield from check_choice(class_, _ROOT, "volumeBindingMode", supported=("Immediate", "WaitForFirstConsumer"))
    yield from _check_topologies(class_)


def check_attributes_class(class_: Value) -> Problems:
    """Validates a VolumeAttributesClass."""
    yield from _check_provisioner(class_, "driverName")
    if not child(class_, "parameters"):
        yield required(FieldPath("parameters"), "must contain at least one key/value pair")
    yield from _check_parameters(child(class_, "parameters"), FieldPath("parameters"))


def update_storage_class(new: Value, old: Value) -> Problems:
    """Validates that a class keeps its provisioner, parameters, reclaim policy and binding mode: volumes were made with them."""
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if not is_same(new.get(field), old.get(field)):
            yield forbidden(FieldPath(field), f"updates to {field} are forbidden.")
    yield from check_unchanged(new.get("volumeBindingMode"), old.get("volumeBindingMode"), FieldPath("volumeBindingMode"))


def update_attributes_class(new: Value, old: Value) -> Problems:
    """Validates that a class keeps its driver and its parameters."""
    for field in ("driverName", "parameters"):
        if not is_same(new.get(field), old.get(field)):
            yield forbidden(FieldPath(field), f"updates to {field} are forbidden.")


def _check_provisioner(class_: Value, field: str) -> Problems:
    value = text(class_, field)
    yield from check_rule(value.lower(), FieldPath(field), names.validate_qualified_name) if value else [required(FieldPath(field))]


def _check_topologies(class_: Value) -> Problems:
    """Validates the topologies in which volumes may be provisioned: distinct terms, each of labels with values."""
    known: set[Any] = set()
    for term, at in each(class_, _ROOT, "allowedTopologies"):
        seen: set[Any] = set()
        for expression, place in each(term, at, "matchLabelExpressions"):
            yield from check_rule(text(expression, "key"), place / "key", names.validate_qualified_name)
            if text(expression, "key") in seen:
                yield duplicate(place / "key", text(expression, "key"))
            seen.add(text(expression, "key"))
            yield from _check_values(texts(expression, "values"), place / "values")
        meant = frozenset((text(one, "key"), frozenset(texts(one, "values"))) for one in objects(term, "matchLabelExpressions"))
        if meant and meant in known:
            yield duplicate(at / "matchLabelExpressions", "")
        known.add(meant)


def _check_values(values: list[str], path: FieldPath) -> Problems:
    if not values:
        yield required(path)
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield duplicate(path / index, value)
        seen.add(value)


def _check_parameters(parameters: Value, path: FieldPath) -> Problems:
    if len(parameters) > _MAX_PARAMETERS:
        yield too_long(path, _MAX_PARAMETERS)
        return
    if any(not key for key in parameters):
        yield invalid(path, "", "field can not be empty.")
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in parameters.items()) > _MAX_PARAMETERS_BYTES:
        yield too_long(path, _MAX_PARAMETERS_BYTES)
