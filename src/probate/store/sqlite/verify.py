"""Rows of the log as records: those whose checksum matches, and the damaged ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias
from zlib import crc32

from probate.store import checksums, damage
from probate.store.contract import Damaged, Found, Record, Revision

Row: TypeAlias = Sequence[Any]
"""key, value, revision and checksum, as SQLite has them: a damaged file may have anything in their place."""


def found(key: str, value: Any, revision: Revision, checksum: Any) -> Record | Damaged:
    """One row."""
    if type(value) is not bytes:
        return Damaged(key, revision, damage.MISSING)
    if checksums.of(key, value, revision) != checksum:
        return Damaged(key, revision, damage.CHECKSUM)
    return Record(key, value, revision)


def records(rows: Sequence[Row]) -> tuple[list[Record], tuple[Damaged, ...]]:
    """Many rows. (What `found` does, written out: a list of thousands is looked at in one go.)"""
    try:
        intact = [
            Record(key, value, revision)
            for key, value, revision, checksum in rows
            if crc32(value, crc32(key.encode(), revision)) == checksum
        ]
    except TypeError:  # a value is no bytes
        intact = []
    return (intact, ()) if len(intact) == len(rows) else split([found(*row) for row in rows])


def split(looked_at: Sequence[Found]) -> tuple[list[Record], tuple[Damaged, ...]]:
    """The records, and the damaged objects."""
    damaged = tuple([one for one in looked_at if type(one) is Damaged])
    return [one for one in looked_at if type(one) is Record], damaged
