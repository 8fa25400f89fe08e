"""Fast path: whether a value is stored exactly as it was sent. Equals a read by `typed` that changes nothing and reports nothing;
property-tested in tests/unit/api/schema/test_exact_match.py.

`typed` reads a value part by part and builds the stored form. Most values do not need that: every field is known and of its type,
none is null, and none has more than one spelling. For each schema this module derives a msgspec type that accepts only such
values, so native code checks them:

    {"data": {"a": "1"}}          matches a ConfigMap: it is stored unchanged
    {"data": {"a": 1}}            does not match: `typed` reports the error
    {"cpu": "1000m"}              does not match a map of quantities, since it is stored as 1

A value that does not match may still be valid: `typed` decides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from probate.api.schema.node import Schema

_NORMALIZED_FORMATS = frozenset({"quantity", "byte", "date-time"})
_ANY_VALUE = dict[str, Any] | list[Any] | str | int | float | bool
_NUMBERS = {"int32": Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]}
_LONG = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

_structs: dict[str, Any] = {}  # by definition, each complete
_building: dict[str, Any] = {}  # None while it is being built: a type that contains itself never matches
_build_lock = threading.Lock()


def is_exact_match(value: Any, schema: Schema) -> bool:
    """Returns whether the value is stored unchanged."""
    exact_type = _structs[schema.name] if schema.name in _structs else _build_type(schema)
    if exact_type is None:
        return False
    try:
        msgspec.convert(value, exact_type)
    except msgspec.ValidationError:
        return False
    return True


def _build_type(schema: Schema) -> Any:
    with _build_lock:  # another thread would omit the fields whose types are half built
        exact_type = _exact_type(schema)
        _structs.update(_building)
        _building.clear()
        return exact_type


def _exact_type(schema: Schema) -> Any:
    """Returns the type that accepts exact values of a schema; None if there is no such type."""
    if schema.is_int_or_string or schema.format in _NORMALIZED_FORMATS:
        return None
    if not schema.type or schema.preserves_unknown_fields:
        return Any
    return _TYPES[schema.type](schema)


def _object_type(schema: Schema) -> Any:
    if schema.values is not None:
        inner = _exact_type(schema.values)
        return None if inner is None else dict[str, inner]  # type: ignore[valid-type]
    if not schema.properties:
        return dict
    return _named_struct(schema) if schema.name else _struct_type(schema)


def _named_struct(schema: Schema) -> Any:
    if schema.name in _structs:
        return _structs[schema.name]
    if schema.name not in _building:
        _building[schema.name] = None
        _building[schema.name] = _struct_type(schema)
    return _building[schema.name]


def _struct_type(schema: Schema) -> Any:
    types = {name: inner_type for name, inner in schema.properties.items() if (inner_type := _exact_type(inner)) is not None}
    fields = [
        (f"f{index}", _ANY_VALUE if inner_type is Any else inner_type, msgspec.UNSET)
        for index, inner_type in enumerate(types.values())
    ]
    names = {f"f{index}": name for index, name in enumerate(types)}
    return msgspec.defstruct("Plain", fields, forbid_unknown_fields=True, rename=names)


def _array_type(schema: Schema) -> Any:
    if schema.items is None:
        return list
    inner = _exact_type(schema.items)
    return None if inner is None else list[inner]  # type: ignore[valid-type]


_TYPES: dict[str, Callable[[Schema], Any]] = {
    "object": _object_type,
    "array": _array_type,
    "string": lambda _: str,
    "integer": lambda schema: _NUMBERS.get(schema.format, _LONG),
    "number": lambda _: float,
    "boolean": lambda _: bool,
}
