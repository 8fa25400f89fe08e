"""The limit to measure against: apsw alone, writing and reading the same rows in the same batches, with nothing around it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import apsw
from load import Thing

from probate.store.sqlite import schema


class Raw:
    """The store's own tables in a file of their own, written without guards, revisions of others, watchers or a loop."""

    def __init__(self, folder: Path) -> None:
        self._db = schema.open_file(folder / "raw.db")
        self._revision = 1

    def close(self) -> None:
        self._db.close()

    def write(self, things: Sequence[Thing], *, batch: int) -> float:
        """Seconds to create these, in durable transactions of `batch`."""
        began = time.perf_counter()
        for first in range(0, len(things), batch):
            self._write_batch(things[first : first + batch])
        return time.perf_counter() - began

    def _write_batch(self, things: Sequence[Thing]) -> None:
        db, start = self._db, self._revision + 1
        self._revision += len(things)
        numbered = list(enumerate(things, start))
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO log VALUES (?, ?, NULL, ?)", [(rev, thing.key, thing.value) for rev, thing in numbered])
        db.executemany("INSERT INTO live VALUES (?, ?)", [(thing.key, rev) for rev, thing in numbered])
        db.executemany("INSERT INTO entry VALUES (?, ?)", [(entry, rev) for rev, thing in numbered for entry in thing.entries])
        db.execute("COMMIT")

    def scan(self, prefix: str, end: str, limit: int) -> float:
        """Seconds to read the first `limit` rows of a range, with their values."""
        began = time.perf_counter()
        rows = self._db.execute(
            "SELECT live.key, log.value, live.rev FROM live JOIN log ON log.rev = live.rev "
            "WHERE live.key >= ? AND live.key < ? ORDER BY live.key LIMIT ?",
            (prefix, end, limit),
        ).fetchall()
        assert len(rows) == limit
        return time.perf_counter() - began

    @property
    def sqlite(self) -> str:
        return apsw.sqlite_lib_version()
