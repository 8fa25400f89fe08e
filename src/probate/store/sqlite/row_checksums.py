"""Rows of the log as records: those whose checksum matches, and the damaged ones by name.

A checksum takes longer than SQLite takes to find the row. That does not matter for single objects; a list of hundreds would take
half as long again. So lists trust, for a while, what was verified since the file was opened (`Verified`). Whoever changes rows
through SQLite, beside the store, ends that at the next write; and single objects are verified each time they are read.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias
from zlib import crc32

from probate.store import damage
from probate.store.contract import Damaged, Found, Record, Revision

Row: TypeAlias = Sequence[Any]
"""key, value, revision and checksum, as SQLite has them: a damaged file may have anything in their place."""


def found(key: str, value: Any, revision: Revision, checksum: Any) -> Record | Damaged:
    """One row."""
    if type(value) is not bytes:
        return Damaged(key, revision, damage.MISSING)
    if crc32(value, crc32(key.encode(), revision)) != checksum:  # as in `checksums.of`, written out: every read passes here
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


_REVISION = operator.itemgetter(2)


class Verified:
    """The versions, by revision, that lists need not verify: they were, and not too much has been read without since."""

    MOST = 200_000
    ROUNDS = 50
    """How often everything is trusted, on average, before it is verified again."""

    def __init__(self, *, is_on: bool = True) -> None:
        self._most = self.MOST if is_on else 0  # in memory nobody can tell who changes what
        self._revisions: set[int] = set()
        self._trusted = 0

    def trusts(self, rows: Sequence[Row]) -> bool:
        """Whether none of these rows has to be verified. (key, value, revision)"""
        if not self._revisions.issuperset(map(_REVISION, rows)):
            return False
        self._trusted += len(rows)
        if self._trusted > self.ROUNDS * len(self._revisions):
            self.forget()
            return False
        return True

    def note(self, records: Sequence[Record], damaged: Sequence[Damaged]) -> None:
        """These were verified. Where anything is damaged, nothing is trusted."""
        if damaged or len(self._revisions) + len(records) > self._most:
            self.forget()
        else:
            self._revisions.update([one.revision for one in records])

    def forget(self) -> None:
        """Trust nothing."""
        self._revisions.clear()
        self._trusted = 0


def split(looked_at: Sequence[Found]) -> tuple[list[Record], tuple[Damaged, ...]]:
    """The records, and the damaged objects."""
    damaged = tuple([one for one in looked_at if type(one) is Damaged])
    return [one for one in looked_at if type(one) is Record], damaged
