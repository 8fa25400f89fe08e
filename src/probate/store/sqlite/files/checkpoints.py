"""Moves committed pages from the write-ahead log into the database file, beside the writing and not within it.

SQLite would do this inside whichever commit makes the log long enough, and that commit would wait for thousands of scattered
pages. Here a second connection on a thread of its own does the bulk while commits go on, and the little that was written
meanwhile is moved between two groups: then nothing is left, and SQLite begins the log anew instead of letting it grow.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import apsw

from probate.core import errors
from probate.core.aio.offload import Thread
from probate.store.sqlite.files import file_checks
from probate.store.sqlite.files.watermark import Watermark
from probate.store.sqlite.group_commit import Groups

_FAILED_SYNC = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}
DUE = 40_000
"""Pages of 2 KiB in the log that make a checkpoint due. A longer log spares more: a page changed often is moved once."""


class Checkpoints:
    """Keeps the log of one file short. `run` is a task; the store calls `look` after each group."""

    def __init__(self, beside: apsw.Connection, path: Path, watermark: Watermark) -> None:
        self._beside = beside
        self._path = path
        self._watermark = watermark
        # Closed after all connections: closing any descriptor of a file drops the locks that SQLite holds on it.
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._thread = Thread("probate-checkpoint")
        self._is_due = asyncio.Event()
        self._written = 0  # pages put into the log since the file was opened
        self._begun_at = 0

    def look(self, writer: apsw.Connection) -> None:
        """After a commit: is one due? (SQLite's hook would tell too, but in the thread that has to hurry.)"""
        self._written = writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]
        if self._written - self._begun_at >= DUE:
            self._is_due.set()

    async def run(self, groups: Groups, writer: apsw.Connection, *, on_lost: Callable[[errors.StoreFilesLost], None]) -> None:
        """Move pages whenever the log is long. Never returns. `on_lost` is told if what was moved could not be synced."""
        while True:
            await self._is_due.wait()
            self._begun_at = self._written
            try:
                await self._thread.run(self._move_beside)
                await groups.between(lambda: self._move(writer))
            except errors.StoreFilesLost as error:
                on_lost(error)
            except (apsw.Error, OSError, errors.ApiError):
                pass  # no room in the file, say: the log still has it all, and later commits try again
            self._is_due.clear()

    def close(self) -> None:
        """Wait for the checkpoint under way and stop."""
        self._thread.close()

    def release_file(self) -> None:
        """Once every connection to the file is closed."""
        os.close(self._file)

    def _move_beside(self) -> None:
        self._move(self._beside)
        try:
            os.fsync(self._file)  # SQLite leaves this to the pass that moves the last page, which commits have to wait for
        except OSError as error:
            raise self._unsynced(error) from error
        self._watermark.sync()

    def _move(self, db: apsw.Connection) -> None:
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) in _FAILED_SYNC:
                raise self._unsynced(error) from error
            raise

    def _unsynced(self, error: Exception) -> errors.StoreFilesLost:
        """After a failed sync the system forgets which pages are not on disk, and the next sync succeeds without them.

        The WAL has them all, as long as nothing begins it anew. So nothing more is written, and the next start reads the WAL.
        """
        return file_checks.lost(f"{self._path} (the database) could not be synced to disk ({error})")
