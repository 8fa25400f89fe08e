"""Values of built-in kinds: what the schema says, as Kubernetes' own types would read and write it.

A wrong type is a `BadRequest` that names the field. Unknown fields are left out and reported, so that the caller can warn or
refuse. A null is the same as nothing. Numbers, times, quantities and base64 come back in the one form that is stored.

`read` makes a new value and leaves what it was given alone.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from probate.api.field_errors import field, shown
from probate.api.schema.node import Schema
from probate.core import errors

MAX_UNKNOWN = 100
"""Unknown fields of one object that are told, as in Kubernetes."""
_TEXTS = {str}
_INTEGERS = {"int32": 2**31, "int64": 2**63}
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


Trail: TypeAlias = "str | tuple[Trail, str | int]"
"""The way to a part: where it begins, then names and indexes. Every part has one, and hardly any is ever spelled out."""


def spelled(trail: Trail) -> str:
    """The way as messages show it."""
    if isinstance(trail, str):
        return trail
    before, part = trail
    return f"{spelled(before)}[{part}]" if isinstance(part, int) else field(spelled(before), part)


class Reader:
    """Reads one object. `unknown` has the paths of the fields that the schema does not have."""

    def __init__(self, canonical_quantity: Callable[[str | float], str | None]) -> None:
        self.unknown: list[str] = []
        self._canonical_quantity = canonical_quantity

    def read(self, value: Any, schema: Schema, path: Trail = "") -> Any:
        """The value as it is stored, or `BadRequest`."""
        if schema.format == "quantity":
            return self._quantity(value, path)
        if schema.is_int_or_string:
            return _int_or_string(value, path)
        if not schema.type or schema.keeps_unknown:
            return value
        return _READERS[schema.type](self, value, schema, path)

    def _object(self, value: Any, schema: Schema, path: Trail) -> Any:
        if not isinstance(value, dict):
            raise _mistyped(value, "object", path)
        if schema.values is not None:
            return self._map(value, schema, path)
        properties = schema.properties
        if not properties:
            return value
        read = {}
        for name, inner in value.items():
            part = properties.get(name)
            if part is None:
                if len(self.unknown) < MAX_UNKNOWN:
                    self.unknown.append(spelled((path, name)))
            elif type(inner) is str and part.is_text:
                read[name] = inner
            elif inner is not None:
                read[name] = self.read(inner, part, (path, name))
        return read

    def _map(self, value: dict[str, Any], schema: Schema, path: Trail) -> dict[str, Any]:
        part = schema.values
        if part is None:
            return value
        if part.is_text and set(map(type, value.values())) <= _TEXTS:
            return dict(value)
        return {name: _nothing(part) if inner is None else self.read(inner, part, (path, name)) for name, inner in value.items()}

    def _array(self, value: Any, schema: Schema, path: Trail) -> Any:
        if not isinstance(value, list):
            raise _mistyped(value, "array", path)
        part = schema.items
        if part is None:
            return value
        return [_nothing(part) if inner is None else self.read(inner, part, (path, at)) for at, inner in enumerate(value)]

    def _string(self, value: Any, schema: Schema, path: Trail) -> str:
        if not isinstance(value, str):
            raise _mistyped(value, "string", path)
        if schema.format == "byte":
            return _base64(value, path)
        if schema.format == "date-time":
            return _time(value, path, digits=6 if schema.name.endswith("MicroTime") else 0)
        return value

    def _integer(self, value: Any, schema: Schema, path: Trail) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _mistyped(value, "integer", path)
        bound = _INTEGERS.get(schema.format, 2**63)
        if not -bound <= value < bound:
            raise errors.BadRequest(f"{spelled(path)}: the number {value} does not fit into {schema.format or 'int64'}")
        return value

    def _number(self, value: Any, _schema: Schema, path: Trail) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _mistyped(value, "number", path)
        return value

    def _boolean(self, value: Any, _schema: Schema, path: Trail) -> bool:
        if not isinstance(value, bool):
            raise _mistyped(value, "boolean", path)
        return value

    def _quantity(self, value: Any, path: Trail) -> str:
        is_candidate = isinstance(value, str | int | float) and not isinstance(value, bool)
        canonical = self._canonical_quantity(value) if is_candidate else None
        if canonical is None:
            raise errors.BadRequest(
                f"{spelled(path)}: {shown(value)} is no quantity: quantities are numbers with a unit, such as 100m, 1.5 or 2Gi"
            )
        return canonical


_READERS: dict[str, Callable[[Reader, Any, Schema, Trail], Any]] = {
    "object": Reader._object,  # noqa: SLF001 they are its own
    "array": Reader._array,  # noqa: SLF001
    "string": Reader._string,  # noqa: SLF001
    "integer": Reader._integer,  # noqa: SLF001
    "number": Reader._number,  # noqa: SLF001
    "boolean": Reader._boolean,  # noqa: SLF001
}


def _int_or_string(value: Any, path: Trail) -> int | str:
    if isinstance(value, int | str) and not isinstance(value, bool):
        return value
    raise _mistyped(value, "integer or string", path)


def _nothing(schema: Schema) -> Any:
    """What a null is where something has to be."""
    if schema.format == "quantity":
        return "0"
    return {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}.get(schema.type)


def _base64(value: str, path: Trail) -> str:
    try:
        return base64.b64encode(base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)).decode()
    except (binascii.Error, ValueError):
        raise errors.BadRequest(f"{spelled(path)}: the value is no valid base64") from None


def _time(value: str, path: Trail, *, digits: int) -> str:
    if not _TIME.fullmatch(value):
        raise errors.BadRequest(f"{spelled(path)}: {shown(value)} is no time: times are written like 2006-01-02T15:04:05Z")
    try:
        moment = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise errors.BadRequest(f"{spelled(path)}: {shown(value)} is no time that there is") from None
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds' if digits else 'seconds')}Z"


def _mistyped(value: Any, expected: str, path: Trail) -> errors.BadRequest:
    return errors.BadRequest(f"{spelled(path) or 'the body'} must be of type {expected}, not {type_name(value)}")


def type_name(value: Any) -> str:
    """What JSON calls the type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
