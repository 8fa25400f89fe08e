"""The fields that a document sets: those that its field manager owns after an apply.

    {"metadata": {"labels": {"x": "1"}}, "data": {}}      {"f:metadata": {"f:labels": {"f:x": {}}}, "f:data": {}}

A struct field is not in the set itself, only its fields, unless it is empty; a key of a map is. Extraction also checks the
document: the schema must declare its fields, and list items must differ.
"""

from __future__ import annotations

from typing import Any

from probate.api.apply.field_sets import LEAF, FieldSet, include_self
from probate.api.apply.schema_shapes import DEDUCED, SCALARS, MissingKey, Shape
from probate.core import work_limits


class SchemaMismatch(ValueError):
    """The document does not match the schema. The message names the path and the reason."""


def extract_fields(document: dict[str, Any], shape: Shape, *, is_checked: bool = True) -> FieldSet:
    """Returns the fields that the document sets. Raises `SchemaMismatch` if `is_checked` and the document is invalid."""
    return _map_fields(document, shape, "", is_checked=is_checked)


def _map_fields(value: dict[str, Any], shape: Shape, path: str, *, is_checked: bool) -> FieldSet:
    fields: FieldSet = {}
    work_limits.spend(len(value))
    for key, inner in value.items():
        child = shape.child(key)
        if child is None:
            if is_checked:
                raise SchemaMismatch(f"{path}.{key}: field not declared in schema")
            child = DEDUCED
        node = _value_fields(inner, child, f"{path}.{key}", is_checked=is_checked)
        if inner is None or inner == {} or not shape.is_field(key):
            node = include_self(node or LEAF)
        if node is not None:
            fields[f"f:{key}"] = node
    return fields


def _value_fields(value: Any, shape: Shape, path: str, *, is_checked: bool) -> FieldSet | None:
    """Returns the fields set in a value; None if there are none."""
    value_type = type(value)
    if is_checked:
        _check(value, shape, path)
    if value_type is dict:
        return LEAF if shape.is_atomic else _map_fields(value, shape, path, is_checked=is_checked) or None
    if value_type is list and shape.list_type != "atomic" and shape.item is not None:
        return _list_fields(value, shape, path, is_checked=is_checked) or None
    if value is None and (shape.type == "object" or shape.item is not None) and not shape.is_atomic:
        return None
    return LEAF


def _list_fields(value: list[Any], shape: Shape, path: str, *, is_checked: bool) -> FieldSet:
    fields: FieldSet = {}
    work_limits.spend(len(value))
    for index, item in enumerate(value):
        try:
            path_element = shape.path_element(item)
        except MissingKey as error:
            if is_checked:
                raise SchemaMismatch(f"{path}[{index}]: {error}") from None
            path_element = f"i:{index}"
        if is_checked and path_element in fields:
            raise SchemaMismatch(f"{path}[{index}]: there is another such item: {path_element[2:]}")
        fields[path_element] = include_self(
            _value_fields(item, shape.item or DEDUCED, f"{path}[{index}]", is_checked=is_checked) or LEAF
        )
    return fields


def _check(value: Any, shape: Shape, path: str) -> None:
    expected = shape.type
    if not expected or value is None:
        return
    actual = "object" if type(value) is dict else "array" if type(value) is list else "a single value"
    if actual != ("a single value" if expected in SCALARS else expected):
        raise SchemaMismatch(f"{path}: expected {expected}, got {actual}")
