"""Opens and closes the connections, files and threads of one store, in the right order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from probate.core import errors, private_files
from probate.core.aio.offload import InlineOffload, Offload, WorkerThread
from probate.core.logs import facts
from probate.store.sqlite import group_commit, schema, write_group
from probate.store.sqlite.files import lock, watermark
from probate.store.sqlite.files.checkpoints import Checkpointer
from probate.store.sqlite.files.durability import Durability
from probate.store.sqlite.files.file_checks import StoreFiles

log = logging.getLogger(__name__)


class Database(NamedTuple):
    """The connections, files and threads of a `SqliteStore`."""

    writer: apsw.Connection
    reader: apsw.Connection  # in memory, the writer itself
    offload: Offload  # where the writer's blocking calls run
    turn: int  # transactions evaluated before other tasks of the loop run
    checkpoints: Checkpointer | None
    durability: Durability | None  # None in memory
    close: Callable[[], None]


class _Opened(NamedTuple):
    """Everything that `_connect` opens."""

    process_lock: lock.ProcessLock
    database_lock: lock.DatabaseLock
    writer: apsw.Connection
    reader: apsw.Connection
    checkpointer: apsw.Connection
    durability: Durability

    def close(self) -> None:
        """Closes the connections first, then the locks, because closing a descriptor of the database drops SQLite's locks on it.

        Closing the last connection moves the WAL into the database and removes the WAL by name. If the files are not those that
        were opened, this would remove the WAL of another process that uses the name now, so it is disabled.
        """
        if not self.durability.is_intact():
            for connection in (self.reader, self.checkpointer, self.writer):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        for connection in (self.reader, self.checkpointer, self.writer):
            _close(connection)
        self.durability.close()
        self.database_lock.release()
        self.process_lock.release()


async def open_in_file(path: Path, vfs: str | None = None) -> Database:
    """Opens the database in this file; creates it if it is missing. Raises `CannotOpen` with the reason and a remedy.

    `vfs` names the SQLite VFS to use; None is the default one.
    """
    opened = await _connect_off_loop(path, vfs)
    thread = WorkerThread("probate-store")
    checkpoints = Checkpointer(opened.checkpointer, path, opened.durability.watermark)

    def close() -> None:
        thread.close()
        checkpoints.close()
        opened.close()
        checkpoints.release_file()

    return Database(opened.writer, opened.reader, thread, group_commit.TURN_TRANSACTIONS, checkpoints, opened.durability, close)


async def _connect_off_loop(path: Path, vfs: str | None) -> _Opened:
    """Opens the connections on a thread. If the caller is cancelled, closes them as soon as they are open."""
    opening = asyncio.ensure_future(asyncio.to_thread(_connect, path, vfs))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(lambda done: done.exception() or done.result().close())
        raise


def open_in_memory() -> Database:
    """Opens a database in memory. It has one connection, so a group must be committed before any other task can read."""
    db = apsw.Connection(":memory:")
    schema.disable_replanning(db)
    schema.create_or_upgrade(db)
    return Database(db, db, InlineOffload(), write_group.MAX_GROUP, None, None, lambda: None)


def _connect(path: Path, vfs: str | None) -> _Opened:
    try:
        path = path.resolve()  # two names of one file are one store
        schema.check_path(path)
        process_lock = lock.ProcessLock(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of symbolic links
        raise errors.CannotOpen(f"{path} cannot be opened: {_reason(error)}. {_WHAT_TO_DO}") from error
    with contextlib.ExitStack() as undo:
        undo.callback(process_lock.withdraw)
        try:
            opened = _open(path, vfs, process_lock, undo=undo)
        except (apsw.Error, OSError) as error:
            raise errors.CannotOpen(f"{path} cannot be opened: {_reason(error)}. {_WHAT_TO_DO}") from error
        undo.pop_all()
        return opened


_WHAT_TO_DO = "Give this user the right to read and write it and its folder, or name another file"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _open(path: Path, vfs: str | None, process_lock: lock.ProcessLock, *, undo: contextlib.ExitStack) -> _Opened:
    """Opens everything in order. Adds a callback to `undo` for each step, which reverts it if a later step fails."""
    recorded = watermark.read(path)
    watermark.check_database_exists(path, recorded)
    if private_files.create(path):  # SQLite gives the WAL and the shared-memory file the mode of the database
        undo.callback(_remove_if_empty, path)
    schema.check_is_sqlite(path)  # before it is locked, because closing a descriptor of the file drops locks
    database_lock = lock.DatabaseLock(path)
    undo.callback(database_lock.release)
    writer = schema.open_file(path, vfs, check=lambda db: watermark.check_revision(path, recorded, db))
    undo.callback(_close, writer)
    for suffix in ("", "-wal", "-shm"):
        private_files.restrict(path.with_name(path.name + suffix))
    reader = schema.open_reader(path, vfs)
    undo.callback(_close, reader)
    checkpointer = schema.open_checkpointer(path, vfs)
    undo.callback(_close, checkpointer)
    now = watermark.ensure_identity(writer)
    files = StoreFiles(path, process_lock.fileno(), writer.pragma("page_size"))
    undo.callback(files.close)
    writer.set_wal_hook(files.on_wal_commit)
    durability = Durability(path, files, watermark.Watermark(path, now))
    return _Opened(process_lock, database_lock, writer, reader, checkpointer, durability)


def _close(connection: apsw.Connection) -> None:
    try:
        connection.close()
    except apsw.Error as error:  # the WAL could not be moved into the database; the next start reads it
        log.warning("store connection did not close cleanly", extra=facts(error=str(error)))


def _remove_if_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        if not path.stat().st_size:
            path.unlink()
