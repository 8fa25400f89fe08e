"""Converts a protobuf message to the dict that the same object's JSON would have given.

The schema says what a field is, `field_numbers` which field a number means. The rules:

- fields that JSON omits when empty are omitted, though Go writes them into protobuf (`field_numbers` marks them); null is absent
- a map is a list of messages { key = 1, value = 2 }, and a list within a map a message { items = 1 }
- a list of numbers may be packed into one chunk or not
- bytes are base64, and a floating-point number that is whole is an integer
- invalid UTF-8 is repaired as Go's JSON encoder does: events whose message was cut within a character are common
- an unknown field is skipped and reported
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from probate.api.field_errors import FieldPath
from probate.api.schema.node import Schema
from probate.api.serialization.yaml_documents import MAX_PARTS
from probate.core import errors
from probate.kinds.protobuf import field_numbers, special_types
from probate.lib import protobuf

MAX_DEPTH = 100
T = TypeVar("T")

_KEY, _VALUE, _ITEMS = 1, 2, 1
_BITS = {"int32": 32}
_MAX_WHOLE = 1e21  # from here on Go writes an exponent, also for integers


def decode(data: bytes, schema: Schema, on_unknown: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Returns the object in these bytes, whose type must be in `field_numbers`. Raises `BadRequest` with the path of an error."""
    return _Reader(on_unknown).message(data, schema, _Place(None, "", 0))


class _Place(NamedTuple):
    """The position of a value. The path text is built only when an error is reported."""

    outer: _Place | None
    part: str | int
    depth: int
    is_key: bool = False

    def inner(self, part: str | int, *, is_key: bool = False) -> _Place:
        if self.depth >= MAX_DEPTH:
            raise errors.BadRequest(f"the body is nested deeper than {MAX_DEPTH} levels")
        return _Place(self, part, self.depth + 1, is_key)

    def path(self) -> FieldPath:
        if self.outer is None:
            return FieldPath()
        outer = self.outer.path()
        return outer @ str(self.part) if self.is_key else outer / self.part


class _Reader:
    def __init__(self, on_unknown: Callable[[str], None] | None) -> None:
        self._on_unknown = on_unknown
        self._parts = 0

    def message(self, data: bytes, schema: Schema, place: _Place) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise errors.BadRequest(f"the body has more than {MAX_PARTS:,} objects")
        if data:
            self._fill(made, data, schema, type_name=schema.name, place=place)
        return made

    def _fill(self, made: dict[str, Any], data: bytes, schema: Schema, *, type_name: str, place: _Place) -> None:
        """Adds the fields in this message of the given type to the object of the schema."""
        found = _fields(data, place)
        known = field_numbers.fields_of(type_name) or {}
        for number in sorted(found.numbers()):
            field = known.get(number)
            if field is not None and (field.inlined or field.name in schema.properties):
                self._put(made, found, field, owner=schema, place=place)
            elif self._on_unknown is not None:
                self._on_unknown(f"{place.path().text or type_name}: field {number}")

    def _put(
        self, made: dict[str, Any], found: protobuf.Fields, field: field_numbers.Field, *, owner: Schema, place: _Place
    ) -> None:
        try:
            if field.inlined:
                _expected(found.chunks, field.number)
                self._fill(made, found.message(field.number), owner, type_name=field.inlined, place=place)
                return
            value = self._value(found, field, owner, place=place)
        except protobuf.Malformed as error:
            raise _malformed(place.inner(field.name) if field.name else place, error) from None
        if value is not None and (value or not field.is_left_out_if_empty):
            made[field.name] = value

    def _value(self, found: protobuf.Fields, field: field_numbers.Field, owner: Schema, *, place: _Place) -> Any:
        schema = owner.properties[field.name]
        if schema.type in {"integer", "boolean"}:
            return _scalar(_expected(found.varints, field.number)[-1], schema)
        if schema.type == "number":
            return _floating(_expected(found.fixed, field.number)[-1])
        if schema.items is not None:
            return self._list(found, field.number, schema.items, owner=owner, place=place.inner(field.name))
        chunks = _expected(found.chunks, field.number)
        if schema.values is not None:
            return self._map(chunks, schema.values, owner, place=place.inner(field.name))
        if schema.name:
            return self._named(found.message(field.number), schema, owner, place=place.inner(field.name))
        return _plain(chunks[-1], schema)

    def _list(self, found: protobuf.Fields, number: int, items: Schema, *, owner: Schema, place: _Place) -> list[Any]:
        if items.type in {"integer", "boolean"}:
            packed = [one for chunk in found.chunks.get(number, ()) for one in protobuf.varints(chunk)]
            return [_scalar(one, items) for one in (*found.varints.get(number, ()), *packed)]
        chunks = _expected(found.chunks, number)
        if items.name:
            return [self._named(one, items, owner, place=place.inner(index)) for index, one in enumerate(chunks)]
        return [_plain(one, items) for one in chunks]

    def _map(self, entries: list[bytes], values: Schema, owner: Schema, *, place: _Place) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for fields in map(protobuf.fields, entries):
            key, value = _text(fields.chunk(_KEY)), fields.chunk(_VALUE)
            if values.name:
                made[key] = self._named(value, values, owner, place=place.inner(key, is_key=True))
            elif values.items is not None:
                made[key] = self._wrapped(value, values.items, owner, place=place.inner(key, is_key=True))
            else:
                made[key] = _plain(value, values)
        return made

    def _wrapped(self, data: bytes, items: Schema, owner: Schema, *, place: _Place) -> list[Any]:
        found = _fields(data, place)
        return self._list(found, _ITEMS, items, owner=owner, place=place) if found.numbers() else []

    def _named(self, data: bytes, schema: Schema, owner: Schema, *, place: _Place) -> Any:
        """Returns the value of a named type: a message or a special type."""
        if schema.name in special_types.READERS:
            return special_types.READERS[schema.name](_fields(data, place))
        if schema.name in special_types.SCHEMA_READERS:
            inner = place.inner("schema")
            return special_types.SCHEMA_READERS[schema.name](_fields(data, place), lambda one: self.message(one, owner, inner))
        return self.message(data, schema, place)


def _fields(data: bytes, place: _Place) -> protobuf.Fields:
    try:
        return protobuf.fields(data)
    except protobuf.Malformed as error:
        raise _malformed(place, error) from None


def _expected(values: dict[int, T], number: int) -> T:
    if number not in values:
        raise protobuf.Malformed(f"field {number} has the wrong wire type")
    return values[number]


def _scalar(value: int, schema: Schema) -> int | bool:
    return bool(value) if schema.type == "boolean" else protobuf.signed(value, _BITS.get(schema.format, 64))


def _floating(piece: bytes) -> int | float:
    value = protobuf.double(piece)
    if not math.isfinite(value):
        raise protobuf.Malformed(f"{value} is not a number in JSON")
    return int(value) if value.is_integer() and abs(value) < _MAX_WHOLE else value


def _plain(data: bytes, schema: Schema) -> str:
    return base64.b64encode(data).decode() if schema.format == "byte" else _text(data)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _malformed(place: _Place, error: protobuf.Malformed) -> errors.BadRequest:
    path = place.path()
    prefix = f"{path}: " if path.text else ""
    return errors.BadRequest(f"the body is not valid protobuf: {prefix}{error}")
