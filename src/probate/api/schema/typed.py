"""Reads values of built-in kinds as Kubernetes' Go types decode and encode them.

A wrong type raises a `BadRequest` that names the field. Unknown fields are dropped and reported, so that the caller can warn or
reject. Null equals an absent field. Numbers, times, quantities and base64 are returned in the one form that is stored.

`read` returns a new value and does not change its argument.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from probate.api.field_errors import field, format_value
from probate.api.schema.node import Schema
from probate.core import errors

MAX_UNKNOWN = 100
"""Largest number of unknown fields that are reported for one object, as in Kubernetes."""
_STRING_TYPES = {str}
_INTEGERS = {"int32": 2**31, "int64": 2**63}
_TIME_PATTERN = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


LazyPath: TypeAlias = "str | tuple[LazyPath, str | int]"
"""The path of a value as a linked list: the root's path, then names and indexes. Cheap to extend; formatted only for messages."""


def format_path(trail: LazyPath) -> str:
    """Formats the path for a message."""
    if isinstance(trail, str):
        return trail
    parent, segment = trail
    return f"{format_path(parent)}[{segment}]" if isinstance(segment, int) else field(format_path(parent), segment)


class Reader:
    """Reads one object. `unknown` holds the paths of the fields that the schema does not have."""

    def __init__(self, canonical_quantity: Callable[[str | float], str | None]) -> None:
        self.unknown: list[str] = []
        self._canonical_quantity = canonical_quantity

    def read(self, value: Any, schema: Schema, path: LazyPath = "") -> Any:
        """Returns the value as it is stored. Raises `BadRequest`."""
        if schema.format == "quantity":
            return self._quantity(value, path)
        if schema.is_int_or_string:
            return _int_or_string(value, path)
        if not schema.type or schema.preserves_unknown_fields:
            return value
        return _READERS[schema.type](self, value, schema, path)

    def _object(self, value: Any, schema: Schema, path: LazyPath) -> Any:
        if not isinstance(value, dict):
            raise _type_error(value, "object", path)
        if schema.values is not None:
            return self._map(value, schema, path)
        properties = schema.properties
        if not properties:
            return value
        read = {}
        for name, inner in value.items():
            field_schema = properties.get(name)
            if field_schema is None:
                if len(self.unknown) < MAX_UNKNOWN:
                    self.unknown.append(format_path((path, name)))
            elif type(inner) is str and field_schema.is_plain_string:
                read[name] = inner
            elif inner is not None:
                read[name] = self.read(inner, field_schema, (path, name))
        return read

    def _map(self, value: dict[str, Any], schema: Schema, path: LazyPath) -> dict[str, Any]:
        value_schema = schema.values
        if value_schema is None:
            return value
        if value_schema.is_plain_string and set(map(type, value.values())) <= _STRING_TYPES:
            return dict(value)
        return {
            name: _zero_value(value_schema) if inner is None else self.read(inner, value_schema, (path, name))
            for name, inner in value.items()
        }

    def _array(self, value: Any, schema: Schema, path: LazyPath) -> Any:
        if not isinstance(value, list):
            raise _type_error(value, "array", path)
        item_schema = schema.items
        if item_schema is None:
            return value
        return [
            _zero_value(item_schema) if inner is None else self.read(inner, item_schema, (path, index))
            for index, inner in enumerate(value)
        ]

    def _string(self, value: Any, schema: Schema, path: LazyPath) -> str:
        if not isinstance(value, str):
            raise _type_error(value, "string", path)
        if schema.format == "byte":
            return _base64(value, path)
        if schema.format == "date-time":
            return _time(value, path, digits=6 if schema.name.endswith("MicroTime") else 0)
        return value

    def _integer(self, value: Any, schema: Schema, path: LazyPath) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _type_error(value, "integer", path)
        limit = _INTEGERS.get(schema.format, 2**63)
        if not -limit <= value < limit:
            raise errors.BadRequest(f"{format_path(path)}: the number {value} does not fit into {schema.format or 'int64'}")
        return value

    def _number(self, value: Any, _schema: Schema, path: LazyPath) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _type_error(value, "number", path)
        return value

    def _boolean(self, value: Any, _schema: Schema, path: LazyPath) -> bool:
        if not isinstance(value, bool):
            raise _type_error(value, "boolean", path)
        return value

    def _quantity(self, value: Any, path: LazyPath) -> str:
        is_candidate = isinstance(value, str | int | float) and not isinstance(value, bool)
        canonical = self._canonical_quantity(value) if is_candidate else None
        if canonical is None:
            raise errors.BadRequest(
                f"{format_path(path)}: {format_value(value)} is not a quantity: write a number with a unit such as 100m, 1.5 or 2Gi"
            )
        return canonical


_READERS: dict[str, Callable[[Reader, Any, Schema, LazyPath], Any]] = {
    "object": Reader._object,  # noqa: SLF001 the class's own methods
    "array": Reader._array,  # noqa: SLF001
    "string": Reader._string,  # noqa: SLF001
    "integer": Reader._integer,  # noqa: SLF001
    "number": Reader._number,  # noqa: SLF001
    "boolean": Reader._boolean,  # noqa: SLF001
}


def _int_or_string(value: Any, path: LazyPath) -> int | str:
    if isinstance(value, int | str) and not isinstance(value, bool):
        return value
    raise _type_error(value, "integer or string", path)


def _zero_value(schema: Schema) -> Any:
    """Returns what a null becomes where a value is required."""
    if schema.format == "quantity":
        return "0"
    return {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}.get(schema.type)


def _base64(value: str, path: LazyPath) -> str:
    try:
        return base64.b64encode(base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)).decode()
    except (binascii.Error, ValueError):
        raise errors.BadRequest(f"{format_path(path)}: the value is not valid base64") from None


def _time(value: str, path: LazyPath, *, digits: int) -> str:
    if not _TIME_PATTERN.fullmatch(value):
        raise errors.BadRequest(f"{format_path(path)}: {format_value(value)} is not a time: write times like 2006-01-02T15:04:05Z")
    try:
        time = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise errors.BadRequest(f"{format_path(path)}: {format_value(value)} is not an existing date and time") from None
    return f"{time.replace(tzinfo=None).isoformat(timespec='microseconds' if digits else 'seconds')}Z"


def _type_error(value: Any, expected: str, path: LazyPath) -> errors.BadRequest:
    return errors.BadRequest(f"{format_path(path) or 'the body'} must be of type {expected}, not {type_name(value)}")


def type_name(value: Any) -> str:
    """Returns JSON's name for the type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
