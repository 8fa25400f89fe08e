"""Checkpoints: moves committed pages from the write-ahead log (WAL) into the database file, concurrently with commits.

SQLite would do this inside the commit that makes the WAL long enough, and that commit would wait for thousands of scattered pages.
Here a second connection on its own thread moves most pages while commits continue, and the few written meanwhile are moved between
two groups. Then none are left, and SQLite restarts the WAL instead of letting it grow.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import apsw

from probate.core import errors
from probate.core.aio.offload import WorkerThread
from probate.store.sqlite.files import file_checks
from probate.store.sqlite.files.watermark import Watermark
from probate.store.sqlite.group_commit import GroupCommitter

_FAILED_SYNC = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}
CHECKPOINT_PAGES = 40_000
"""Pages of 2 KiB in the WAL that make a checkpoint due. A longer WAL saves work: a page that changed often is moved once."""


class Checkpointer:
    """Keeps the WAL of one file short. The store runs `run` as a task and calls `check_due` after each group."""

    def __init__(self, db: apsw.Connection, path: Path, watermark: Watermark) -> None:
        self._db = db
        self._path = path
        self._watermark = watermark
        # Closed after all connections: closing any descriptor of a file drops the locks that SQLite holds on it.
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._thread = WorkerThread("probate-checkpoint")
        self._is_due = asyncio.Event()
        self._written = 0  # pages appended to the WAL since the file was opened
        self._written_at_last = 0

    def check_due(self, writer: apsw.Connection) -> None:
        """Starts a checkpoint if one is due. (SQLite's hook could do this too, but on the commit thread.)"""
        self._written = writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]
        if self._written - self._written_at_last >= CHECKPOINT_PAGES:
            self._is_due.set()

    async def run(
        self, committer: GroupCommitter, writer: apsw.Connection, *, on_lost: Callable[[errors.StoreFilesLost], None]
    ) -> None:
        """Runs a checkpoint whenever one is due. Never returns. Calls `on_lost` if the moved pages could not be synced."""
        while True:
            await self._is_due.wait()
            self._written_at_last = self._written
            try:
                await self._thread.run(self._move_concurrently)
                await committer.run_between_groups(lambda: self._move(writer))
            except errors.StoreFilesLost as error:
                on_lost(error)
            except (apsw.Error, OSError, errors.ApiError):
                pass  # the disk is full, for example: the WAL still holds everything, and later commits try again
            self._is_due.clear()

    def close(self) -> None:
        """Waits for the checkpoint in progress and stops."""
        self._thread.close()

    def release_file(self) -> None:
        """Closes the database file. To be called after every connection to it is closed."""
        os.close(self._file)

    def _move_concurrently(self) -> None:
        self._move(self._db)
        try:
            os.fsync(self._file)  # SQLite would do this in the pass that moves the last page, during which commits wait
        except OSError as error:
            raise self._sync_failed(error) from error
        self._watermark.sync()

    def _move(self, db: apsw.Connection) -> None:
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) in _FAILED_SYNC:
                raise self._sync_failed(error) from error
            raise

    def _sync_failed(self, error: Exception) -> errors.StoreFilesLost:
        """Returns the error that stops all writes after a failed sync.

        After a failed sync the kernel forgets which pages are not on disk, and the next sync succeeds without them. The WAL holds
        them all until it is restarted. So the store stops writing, and the next start reads the WAL.
        """
        return file_checks.files_lost(f"{self._path} (the database) could not be synced to disk ({error})")
