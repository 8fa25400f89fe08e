"""Checksums of stored values: CRC-32 over the revision, the key and the value.

CRC-32 finds every change of up to 32 neighbouring bits, and misses one in four billion of all others. The standard library has it
in C: a value of a kilobyte takes about 0.4 microseconds. Since the key is part of it, a value that stands in another object's place
is found too; and since the revision is, so is an older version in the place of a newer one. It protects from accidents, not from
people.

An etcd knows the revision only after it has written, so it is left out there (`NO_REVISION`), and the checksum follows the value:

    {"metadata":{"name":"x"}}\\x00<4 bytes, the most significant first>

JSON has no zero byte. So a value that ends otherwise was written before there were checksums: it must be JSON.
"""

from __future__ import annotations

from zlib import crc32

import orjson

NO_REVISION = 0
_MARK = b"\x00"
_SIZE = 5
"""The mark and the checksum."""


def of(key: str, value: bytes, revision: int = NO_REVISION) -> int:
    """The checksum of a value."""
    return crc32(value, crc32(key.encode(), revision))


def sealed(key: str, value: bytes) -> bytes:
    """The value with its checksum after it."""
    return b"%b\x00%b" % (value, of(key, value).to_bytes(4))


def opened(key: str, stored: bytes) -> bytes | None:
    """The value without its checksum; None if that does not match."""
    if stored[-_SIZE:-4] != _MARK:
        return None
    value = stored[:-_SIZE]
    return value if of(key, value).to_bytes(4) == stored[-4:] else None


def is_sealed(stored: bytes) -> bool:
    """Whether there is a checksum at all."""
    return stored[-_SIZE:-4] == _MARK


def is_json(value: bytes) -> bool:
    """Whether a value without a checksum can be what was written."""
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    return True
