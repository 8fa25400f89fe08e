"""Verifies the checksums of log rows and turns the rows into records, or into `DamagedRecord`s.

Computing a checksum takes longer than SQLite takes to find the row. For single objects that does not matter; a list of hundreds
would take half as long again. So lists skip, for a while, the revisions that were verified since the file was opened
(`VerifiedRevisions`). A change of the file by another program through SQLite ends that at the next write, and single objects are
verified on every read.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias
from zlib import crc32

from probate.store import damaged_objects
from probate.store.contract import DamagedRecord, ReadResult, Record

Row: TypeAlias = Sequence[Any]
"""Key, value, revision and checksum, as SQLite returns them: a damaged file may hold values of any type."""


def verify_row(row: Row) -> Record | DamagedRecord:
    """Returns the record of one row."""
    key, value, revision, checksum = row
    if type(value) is not bytes:
        return DamagedRecord(key, revision, damaged_objects.MISSING)
    if crc32(value, crc32(key.encode(), revision)) != checksum:  # `checksums.compute` inlined: every read runs this
        return DamagedRecord(key, revision, damaged_objects.CHECKSUM)
    return Record(key, value, revision)


def verify_rows(rows: Sequence[Row]) -> tuple[list[Record], tuple[DamagedRecord, ...]]:
    """Returns the intact records and the damaged ones. Fast path: `verify_row` inlined, for lists of thousands of rows."""
    try:
        intact = [
            Record(key, value, revision)
            for key, value, revision, checksum in rows
            if crc32(value, crc32(key.encode(), revision)) == checksum
        ]
    except TypeError:  # a value is not bytes
        intact = []
    return (intact, ()) if len(intact) == len(rows) else split_damaged([verify_row(row) for row in rows])


_REVISION = operator.itemgetter(2)


class VerifiedRevisions:
    """The revisions whose values lists need not verify again. Emptied after a number of unverified reads, and on any damage."""

    MAX_REVISIONS = 200_000
    MAX_UNVERIFIED_READS = 50
    """How many times, on average, a version is read without verification before all are verified again."""

    def __init__(self, *, is_on: bool = True) -> None:
        self._max_revisions = self.MAX_REVISIONS if is_on else 0  # off in memory, where foreign writes cannot be detected
        self._revisions: set[int] = set()
        self._unverified_reads = 0

    def contains_all(self, rows: Sequence[Row]) -> bool:
        """Returns whether none of these rows (key, value, revision) needs verification."""
        if not self._revisions.issuperset(map(_REVISION, rows)):
            return False
        self._unverified_reads += len(rows)
        if self._unverified_reads > self.MAX_UNVERIFIED_READS * len(self._revisions):
            self.clear()
            return False
        return True

    def add(self, intact: Sequence[Record], damaged: Sequence[DamagedRecord]) -> None:
        """Adds records that were verified; clears everything if any was damaged."""
        if damaged or len(self._revisions) + len(intact) > self._max_revisions:
            self.clear()
        else:
            self._revisions.update([record.revision for record in intact])

    def clear(self) -> None:
        """Makes lists verify everything again."""
        self._revisions.clear()
        self._unverified_reads = 0


def split_damaged(results: Sequence[ReadResult]) -> tuple[list[Record], tuple[DamagedRecord, ...]]:
    """Returns the intact records and the damaged ones. Drops results of absent keys."""
    damaged = tuple([result for result in results if type(result) is DamagedRecord])
    return [result for result in results if type(result) is Record], damaged
