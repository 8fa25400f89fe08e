"""The baseline: plain apsw writes and reads the same rows in the same batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import apsw
from load import SampleObject

from probate.store.sqlite import schema


class Raw:
    """The store's tables in a separate file, written without guards, watchers or an event loop."""

    def __init__(self, folder: Path) -> None:
        self._db = schema.open_file(folder / "raw.db")
        self._revision = 1

    def close(self) -> None:
        self._db.close()

    def write(self, samples: Sequence[SampleObject], *, batch: int) -> float:
        """Creates the objects in durable transactions of `batch`. Returns the seconds it takes."""
        started_at = time.perf_counter()
        for first in range(0, len(samples), batch):
            self._write_batch(samples[first : first + batch])
        return time.perf_counter() - started_at

    def _write_batch(self, samples: Sequence[SampleObject]) -> None:
        db, start = self._db, self._revision + 1
        self._revision += len(samples)
        numbered = list(enumerate(samples, start))
        db.execute("BEGIN IMMEDIATE")
        db.executemany(
            "INSERT INTO log VALUES (?, ?, NULL, ?, NULL)", [(rev, sample.key, sample.value) for rev, sample in numbered]
        )
        db.executemany("INSERT INTO live VALUES (?, ?)", [(sample.key, rev) for rev, sample in numbered])
        db.executemany("INSERT INTO entry VALUES (?, ?)", [(entry, rev) for rev, sample in numbered for entry in sample.entries])
        db.execute("COMMIT")

    def scan(self, prefix: str, end: str, limit: int) -> float:
        """Reads the first `limit` rows of a range, with their values. Returns the seconds it takes."""
        started_at = time.perf_counter()
        rows = self._db.execute(
            "SELECT live.key, log.value, live.rev FROM live JOIN log ON log.rev = live.rev "
            "WHERE live.key >= ? AND live.key < ? ORDER BY live.key LIMIT ?",
            (prefix, end, limit),
        ).fetchall()
        assert len(rows) == limit
        return time.perf_counter() - started_at

    @property
    def sqlite(self) -> str:
        return apsw.sqlite_lib_version()
