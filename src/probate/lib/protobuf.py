"""Protobuf's own layer: bytes to numbered fields and back, with no idea of what they mean.

A field is a tag and a value. The tag says the field's number and how its value is written: as a varint, in 4 or 8 bytes, or as
bytes with their length before them. Texts, messages and maps are all of the last sort, so only a schema can tell them apart.

    found = fields(b"\\x0a\\x01a\\x38\\x05")
    found.chunk(1)      # b"a"
    found.varint(7)     # 5

Bytes that are no fields are `Malformed`, which says what is wrong with them; where they are, the caller knows.
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
    """These bytes are not what they should be."""


class Fields(NamedTuple):
    """The values of a message's fields by number, each in the order in which they came, apart by how they are written."""

    varints: dict[int, list[int]]
    chunks: dict[int, list[bytes]]
    fixed: dict[int, list[bytes]]

    def numbers(self) -> set[int]:
        """The numbers of the fields that are there."""
        return {*self.varints, *self.chunks, *self.fixed}

    def varint(self, number: int) -> int:
        """The field's number: the last one counts."""
        return self.varints.get(number, [0])[-1]

    def chunk(self, number: int) -> bytes:
        """The field's bytes: the last ones count."""
        return self.chunks.get(number, [b""])[-1]

    def message(self, number: int) -> bytes:
        """The field's message. One that comes in parts is merged, and parts in a row are the merged message."""
        return b"".join(self.chunks.get(number, ()))


def fields(data: bytes) -> Fields:
    """All fields of a message."""
    found = Fields({}, {}, {})
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if not number:
            raise Malformed("there is no field number 0")
        if wire_type == VARINT:
            value, position = varint(data, position)
            found.varints.setdefault(number, []).append(value)
        else:
            values = found.chunks if wire_type == _BYTES else found.fixed
            piece, position = _piece(data, position, wire_type)
            values.setdefault(number, []).append(piece)
    return found


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The number that begins at this position, and the position after it."""
    if position < len(data) and data[position] < 0x80:  # most are this short
        return data[position], position + 1
    value = shift = 0
    for byte in data[position : position + _MAX_VARINT_BYTES]:
        if byte < 0x80:
            return (value | byte << shift) & _MAX_VARINT, position + shift // 7 + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise Malformed("a number is longer than 64 bits" if shift == 7 * _MAX_VARINT_BYTES else "it ends within a number")


def varints(data: bytes) -> list[int]:
    """Numbers written one after the other, as lists of them may be."""
    found, position = [], 0
    while position < len(data):
        value, position = varint(data, position)
        found.append(value)
    return found


def signed(value: int, bits: int) -> int:
    """The number as a signed one of so many bits: further ones are dropped, as everybody does who reads protobuf."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def double(piece: bytes) -> float:
    """The floating-point number in these 8 bytes."""
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
        raise Malformed(f"wire type {wire_type} is none that Kubernetes writes")
    end = position + size
    if end > len(data):
        raise Malformed(f"a field of {size} bytes goes on after the end")
    return data[position:end], end


def written(value: int) -> bytes:
    """A number as a varint; a negative one has ten bytes, as Go writes it."""
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
    """What stands before the value of a field."""
    return written(number << 3 | wire_type)


def sized(data: bytes) -> bytes:
    """Bytes with their length before them."""
    size = len(data)
    return (_SHORT[size] if size < 0x80 else written(size)) + data


def chunk(number: int, data: bytes) -> bytes:
    """A field that holds bytes: a text or a message."""
    return tag(number) + sized(data)
