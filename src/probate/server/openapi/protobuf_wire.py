"""Protobuf's wire format, as far as OpenAPI needs it: how a JSON value becomes the bytes of a field.

A `Message` says which field number each key of a JSON object has and how its value is written. A key that no message has is a
mistake of whoever made the object, and is not passed over. Zeros and `false` are not written: absent means the same.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import orjson

from probate.core.errors import InvariantViolation

Write: TypeAlias = Callable[[int, Any], bytes]  # a field's number and value, to its bytes

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_UNLIKE_YAML = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")  # unprintable there, or the end of a line


class Message:
    """How one kind of message is written. `extensions` is the number of the field that all `x-` keys go to."""

    def __init__(self, fields: Mapping[str, tuple[int, Write]], *, extensions: int = 0) -> None:
        self.fields = dict(fields)
        self._extensions = extensions

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """The message's bytes, its fields in the order of the keys."""
        return b"".join([self._field(key, one) for key, one in value.items()])

    def write(self, number: int, value: Mapping[str, Any]) -> bytes:
        """The message as a field of another."""
        return delimited(number, self.encode(value))

    def _field(self, key: str, value: Any) -> bytes:
        found = self.fields.get(key)
        if found:
            return found[1](found[0], value)
        if self._extensions and key.startswith("x-"):
            return delimited(self._extensions, text(1, key) + any_value(2, value))
        raise InvariantViolation("an OpenAPI document has a key that its protobuf form has no field for", key=key)


def varint(number: int) -> bytes:
    """A whole number, seven bits a byte, the lowest first; a negative one as the 64 bits that hold it."""
    number &= (1 << 64) - 1
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def delimited(number: int, content: bytes) -> bytes:
    """A field with its length before it: a text or a message."""
    size = len(content)
    return _TAGS[number][_LENGTH] + (_SIZES[size] if size < len(_SIZES) else varint(size)) + content


def text(number: int, value: str) -> bytes:
    """A field that is a text."""
    return delimited(number, value.encode())


def flag(number: int, value: bool) -> bytes:
    """A field that is true or absent."""
    return flag_of_one(number, value) if value else b""


def flag_of_one(number: int, value: bool) -> bytes:
    """A field that is one of several: written when false, too, since being there is what tells which it is."""
    return _TAGS[number][_VARINT] + (b"\x01" if value else b"\x00")


def count(number: int, value: float) -> bytes:
    """A field that is a whole number. JSON may write it as 3.0."""
    return _TAGS[number][_VARINT] + varint(int(value)) if value else b""


def double(number: int, value: float) -> bytes:
    """A field that is a number."""
    return _TAGS[number][_FIXED64] + struct.pack("<d", value) if value else b""


def any_value(number: int, value: Any) -> bytes:
    """A field that may be anything: a default, one of an enum, an extension. gnostic keeps it as YAML."""
    return delimited(number, text(2, yaml_text(value)))


def yaml_text(value: Any) -> str:
    """JSON that YAML reads as the same value."""
    return _UNLIKE_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", orjson.dumps(value).decode())


def each(inner: Write) -> Write:
    """A field that is there once for each of a list."""
    return lambda number, values: b"".join([inner(number, one) for one in values])


def wrapped(inner: Write, *, by: int = 1) -> Write:
    """A message that is there only for the one field in it."""
    return lambda number, value: delimited(number, inner(by, value))


def named(inner: Write, *, by: int = 1) -> Write:
    """A map: a message with a repeated field of names and values."""

    def write(number: int, values: Mapping[str, Any]) -> bytes:
        return delimited(number, b"".join([delimited(by, text(1, name) + inner(2, one)) for name, one in values.items()]))

    return write


def numbered(inner: Write, keys: Iterable[str], *, start: int = 1) -> dict[str, tuple[int, Write]]:
    """Fields of one type whose numbers follow one another."""
    return {key: (number, inner) for number, key in enumerate(keys, start)}


_TAGS = [[varint(number << 3 | kind) for kind in range(3)] for number in range(40)]
_SIZES = [varint(size) for size in range(2048)]
