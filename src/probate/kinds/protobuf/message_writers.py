"""Writes objects as protobuf messages, as Go does: the reverse of `messages`.

Each type is compiled once to one step per field, in the order of the field numbers. The rules:

- a field that is not a pointer is always written, even if it is empty: a number as zero, a text as empty, a struct with the fields
it always has; empty lists, maps and bytes are not written
- a pointer is written if it is present
- numbers in lists are not packed
- a map is a list of messages { key = 1, value = 2 } in the order of the keys, and a list within a map a message { items = 1 }
- null is read as Go reads it: an absent pointer, or an empty value
"""

from __future__ import annotations

import base64
import struct
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from probate.api.schema.node import Schema
from probate.kinds.protobuf import field_numbers, special_type_writers
from probate.lib import protobuf

Write = Callable[[Any], bytes]

_WHOLE = {"integer", "boolean"}
_KEY, _VALUE, _ITEMS = protobuf.tag(1), protobuf.tag(2), protobuf.tag(1)


class _Step(NamedTuple):
    """How a field is written, with its tag, and what is written if the field is absent.

    An inlined field is written from its owner.
    """

    name: str
    write: Write
    absent: bytes


class Message:
    """Writes the objects of one type. It is complete once its `steps` are; a type may contain itself."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: list[_Step] = []

    def write(self, object_: Any) -> bytes:
        """Returns the encoded fields of the object."""
        parts: list[bytes] = []
        get, add = object_.get, parts.append
        for name, write, absent in self.steps:
            value = get(name) if name else object_
            if value is not None:
                add(write(value))
            elif absent:
                add(absent)
        return b"".join(parts)


_messages: dict[str, Message] = {}  # by definition name; every entry is complete
_lock = threading.Lock()


def message(schema: Schema) -> Message | None:
    """Returns the writer for the objects of this definition; None if they have no protobuf encoding."""
    found = _messages.get(schema.name)
    if found is None and schema.name in field_numbers.definitions():
        with _lock:  # another thread must not get an incomplete message
            maker = _Maker()
            found = maker.message(schema, schema.name)
            _messages.update(maker.made)
    return found


class _Maker:
    def __init__(self) -> None:
        self.made: dict[str, Message] = {}

    def message(self, schema: Schema, definition: str) -> Message:
        """Returns the writer of this type, whose fields are among those of the schema."""
        found = _messages.get(definition) or self.made.get(definition)
        if found is not None:
            return found
        made = self.made[definition] = Message()
        fields = field_numbers.fields_of(definition) or {}
        made.steps += [self._step(fields[number], schema) for number in sorted(fields)]
        return made

    def _step(self, field: field_numbers.Field, owner: Schema) -> _Step:
        if field.inlined:
            inner = self.message(owner, field.inlined)
            return _Step("", _chunked(protobuf.tag(field.number), inner.write), b"")
        schema = owner.properties[field.name]
        absent = b"" if field.is_pointer else self._zero(field.number, schema)
        return _Step(field.name, self._field(field.number, schema, owner), absent)

    def _zero(self, number: int, schema: Schema) -> bytes:
        """Returns what Go writes for an empty field that is not a pointer."""
        if schema.items is not None or schema.values is not None or schema.format == "byte":
            return b""
        if schema.type in _WHOLE:
            return protobuf.tag(number, protobuf.VARINT) + b"\x00"
        if schema.type == "number":
            return protobuf.tag(number, protobuf.FIXED64) + bytes(8)
        if schema.name in special_type_writers.WRITERS:
            return protobuf.chunk(number, special_type_writers.ZEROS.get(schema.name, b""))
        is_struct = bool(schema.name) and schema.name not in special_type_writers.SCHEMA_WRITERS
        return protobuf.chunk(number, self.message(schema, schema.name).write({}) if is_struct else b"")

    def _field(self, number: int, schema: Schema, owner: Schema) -> Write:
        """Returns a function that writes the field with its tag."""
        if schema.type in _WHOLE:
            return _numbered(protobuf.tag(number, protobuf.VARINT))
        if schema.type == "number":
            return _floating(protobuf.tag(number, protobuf.FIXED64))
        if schema.items is not None:
            return self._list(number, schema.items, owner)
        if schema.values is not None:
            return self._map(number, schema.values, owner)
        if not schema.name and schema.format != "byte":
            return _text(protobuf.tag(number))
        return _chunked(protobuf.tag(number), self._value(schema, owner))

    def _value(self, schema: Schema, owner: Schema) -> Write:
        """Returns a function that writes the value of a field, without tag and length."""
        if schema.name in special_type_writers.WRITERS:
            return special_type_writers.WRITERS[schema.name]
        if schema.name in special_type_writers.SCHEMA_WRITERS:
            write, inner = special_type_writers.SCHEMA_WRITERS[schema.name], self.message(owner, owner.name)
            return lambda value: write(value, inner.write)
        if schema.name:
            return self.message(schema, schema.name).write
        return base64.b64decode if schema.format == "byte" else str.encode

    def _list(self, number: int, items: Schema, owner: Schema) -> Write:
        if items.type in _WHOLE:
            return _each(_numbered(protobuf.tag(number, protobuf.VARINT)), 0)
        nothing: Any = None if items.name in special_type_writers.WRITERS else {} if items.name else ""
        return _each(_chunked(protobuf.tag(number), self._value(items, owner)), nothing)

    def _map(self, number: int, values: Schema, owner: Schema) -> Write:
        tag = protobuf.tag(number)
        value = _chunked(_VALUE, self._list(1, values.items, owner) if values.items is not None else self._value(values, owner))
        nothing = b"" if values.format == "byte" else _VALUE + b"\x00"

        def write(entries: dict[str, Any]) -> bytes:
            parts: list[bytes] = []
            for key in sorted(entries):
                found = entries[key]
                entry = _KEY + protobuf.with_length(key.encode()) + (nothing if found is None else value(found))
                parts.append(tag + protobuf.with_length(entry))
            return b"".join(parts)

        return write


@cache
def _openings(tag: bytes) -> tuple[bytes, ...]:
    """Returns the tag followed by each length that takes one byte, as most lengths do."""
    return tuple(tag + protobuf.encode_varint(size) for size in range(0x80))


def _chunked(tag: bytes, value: Write) -> Write:
    short = _openings(tag)

    def write(found: Any) -> bytes:
        data = value(found)
        return short[len(data)] + data if len(data) < 0x80 else tag + protobuf.with_length(data)

    return write


def _text(tag: bytes) -> Write:
    """Fast path for texts, which are most of the data: equals `_chunked`."""
    short = _openings(tag)

    def write(found: str) -> bytes:
        data = found.encode()
        return short[len(data)] + data if len(data) < 0x80 else tag + protobuf.with_length(data)

    return write


def _numbered(tag: bytes) -> Write:
    written = protobuf.encode_varint
    return lambda found: tag + written(found)


def _floating(tag: bytes) -> Write:
    return lambda found: tag + struct.pack("<d", found)


def _each(write: Write, nothing: Any) -> Write:
    return lambda found: b"".join([write(nothing if one is None else one) for one in found])
