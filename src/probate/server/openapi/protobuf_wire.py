"""The protobuf wire format for OpenAPI: encodes JSON values as fields.

A `Message` maps each key of a JSON object to a field number and an encoder. An unknown key is a programming error and raises an
exception. Zeros and `false` are omitted: an absent field has the same meaning.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import orjson

from probate.core.errors import InvariantViolation

Write: TypeAlias = Callable[[int, Any], bytes]  # encodes a field from its number and value

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_UNLIKE_YAML = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")  # unprintable or line breaks in YAML


class Message:
    """Encodes one message type. `extensions` is the number of the field that receives all `x-` keys."""

    def __init__(self, fields: Mapping[str, tuple[int, Write]], *, extensions: int = 0) -> None:
        self.fields = dict(fields)
        self._extensions = extensions

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """Encodes a message; its fields have the order of the keys."""
        return b"".join([self._field(key, one) for key, one in value.items()])

    def write(self, number: int, value: Mapping[str, Any]) -> bytes:
        """Encodes a message as a field of another message."""
        return delimited(number, self.encode(value))

    def _field(self, key: str, value: Any) -> bytes:
        found = self.fields.get(key)
        if found:
            return found[1](found[0], value)
        if self._extensions and key.startswith("x-"):
            return delimited(self._extensions, text(1, key) + any_value(2, value))
        raise InvariantViolation("an OpenAPI document has a key that its protobuf form has no field for", key=key)


def varint(number: int) -> bytes:
    """Encodes an integer, seven bits per byte, lowest bits first; a negative one in its 64-bit representation."""
    number &= (1 << 64) - 1
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def delimited(number: int, content: bytes) -> bytes:
    """Encodes a length-delimited field: a string or a message."""
    size = len(content)
    return _TAGS[number][_LENGTH] + (_SIZES[size] if size < len(_SIZES) else varint(size)) + content


def text(number: int, value: str) -> bytes:
    """Encodes a string field."""
    return delimited(number, value.encode())


def flag(number: int, value: bool) -> bytes:
    """Encodes a bool field; false is omitted."""
    return flag_of_one(number, value) if value else b""


def flag_of_one(number: int, value: bool) -> bytes:
    """Encodes a bool field of a oneof. False is written too, because its presence selects the member of the oneof."""
    return _TAGS[number][_VARINT] + (b"\x01" if value else b"\x00")


def count(number: int, value: float) -> bytes:
    """Encodes an integer field. JSON can contain it as 3.0."""
    return _TAGS[number][_VARINT] + varint(int(value)) if value else b""


def double(number: int, value: float) -> bytes:
    """Encodes a double field."""
    return _TAGS[number][_FIXED64] + struct.pack("<d", value) if value else b""


def any_value(number: int, value: Any) -> bytes:
    """Encodes a field of any type: a default, an enum value, an extension. gnostic stores it as YAML."""
    return delimited(number, text(2, yaml_text(value)))


def yaml_text(value: Any) -> str:
    """Returns JSON that YAML parses as the same value."""
    return _UNLIKE_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", orjson.dumps(value).decode())


def each(inner: Write) -> Write:
    """Returns the encoder of a repeated field."""
    return lambda number, values: b"".join([inner(number, one) for one in values])


def wrapped(inner: Write, *, by: int = 1) -> Write:
    """Returns the encoder of a message with a single field."""
    return lambda number, value: delimited(number, inner(by, value))


def named(inner: Write, *, by: int = 1) -> Write:
    """Returns the encoder of a map: a message with a repeated field of names and values."""

    def write(number: int, values: Mapping[str, Any]) -> bytes:
        return delimited(number, b"".join([delimited(by, text(1, name) + inner(2, one)) for name, one in values.items()]))

    return write


def numbered(inner: Write, keys: Iterable[str], *, start: int = 1) -> dict[str, tuple[int, Write]]:
    """Returns fields of one type with consecutive numbers."""
    return {key: (number, inner) for number, key in enumerate(keys, start)}


_TAGS = [[varint(number << 3 | kind) for kind in range(3)] for number in range(40)]
_SIZES = [varint(size) for size in range(2048)]
