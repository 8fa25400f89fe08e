"""The protobuf wire format: converts between bytes and numbered fields, without a schema.

A field is a tag and a value. The tag contains the field number and the wire type of the value: a varint, 4 or 8 bytes, or bytes
with a length prefix. Strings, messages and maps all use the last wire type, so only a schema can tell them apart.

    found = fields(b"\\x0a\\x01a\\x38\\x05")
    found.chunk(1)      # b"a"
    found.varint(7)     # 5

Bytes that are not valid fields raise `Malformed`. Its message names the defect; the caller adds the position in the message.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

VARINT, FIXED64 = 0, 1
_BYTES, _FIXED32 = 2, 5
_SIZES = {FIXED64: 8, _FIXED32: 4}
_MAX_VARINT = (1 << 64) - 1
_MAX_VARINT_BYTES = 10
_SHORT = tuple(bytes([one]) for one in range(0x80))


class Malformed(ValueError):
    """The bytes do not follow the wire format."""


class Fields(NamedTuple):
    """The field values of a message by field number and wire type, each list in the order of the input."""

    varints: dict[int, list[int]]
    chunks: dict[int, list[bytes]]
    fixed: dict[int, list[bytes]]

    def numbers(self) -> set[int]:
        """Returns the numbers of the fields that are present."""
        return {*self.varints, *self.chunks, *self.fixed}

    def varint(self, number: int) -> int:
        """Returns the varint of a field; the last occurrence wins."""
        return self.varints.get(number, [0])[-1]

    def chunk(self, number: int) -> bytes:
        """Returns the bytes of a field; the last occurrence wins."""
        return self.chunks.get(number, [b""])[-1]

    def message(self, number: int) -> bytes:
        """Returns the encoded message of a field.

        Occurrences of a message field are merged; their concatenation encodes the merged message.
        """
        return b"".join(self.chunks.get(number, ()))


def fields(data: bytes) -> Fields:
    """Parses all fields of a message."""
    found = Fields({}, {}, {})
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if not number:
            raise Malformed("0 is not a field number")
        if wire_type == VARINT:
            value, position = varint(data, position)
            found.varints.setdefault(number, []).append(value)
        else:
            values = found.chunks if wire_type == _BYTES else found.fixed
            piece, position = _piece(data, position, wire_type)
            values.setdefault(number, []).append(piece)
    return found


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Decodes the varint at a position. Returns the number and the position after it."""
    if position < len(data) and data[position] < 0x80:  # fast path: most varints have one byte
        return data[position], position + 1
    value = shift = 0
    for byte in data[position : position + _MAX_VARINT_BYTES]:
        if byte < 0x80:
            return (value | byte << shift) & _MAX_VARINT, position + shift // 7 + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise Malformed("a number is longer than 64 bits" if shift == 7 * _MAX_VARINT_BYTES else "it ends within a number")


def varints(data: bytes) -> list[int]:
    """Decodes a packed list of varints."""
    found, position = [], 0
    while position < len(data):
        value, position = varint(data, position)
        found.append(value)
    return found


def signed(value: int, bits: int) -> int:
    """Interprets a number as a signed integer of `bits` bits. Higher bits are dropped, as all protobuf readers do."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def double(piece: bytes) -> float:
    """Decodes a floating-point number from its 8 bytes."""
    if len(piece) != _SIZES[FIXED64]:
        raise Malformed("a floating-point number must have 8 bytes")
    value: float = struct.unpack("<d", piece)[0]
    return value


def _piece(data: bytes, position: int, wire_type: int) -> tuple[bytes, int]:
    if wire_type == _BYTES:
        size, position = varint(data, position)
    elif wire_type in _SIZES:
        size = _SIZES[wire_type]
    else:
        raise Malformed(f"wire type {wire_type} is not supported")
    end = position + size
    if end > len(data):
        raise Malformed(f"a field of {size} bytes extends beyond the end")
    return data[position:end], end


def encode_varint(value: int) -> bytes:
    """Encodes a number as a varint. A negative number takes ten bytes, as in Go."""
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= _MAX_VARINT
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def tag(number: int, wire_type: int = _BYTES) -> bytes:
    """Encodes the tag that precedes the value of a field."""
    return encode_varint(number << 3 | wire_type)


def with_length(data: bytes) -> bytes:
    """Prepends the length to the bytes."""
    size = len(data)
    return (_SHORT[size] if size < 0x80 else encode_varint(size)) + data


def chunk(number: int, data: bytes) -> bytes:
    """Encodes a field that contains bytes: a string or a message."""
    return tag(number) + with_length(data)
