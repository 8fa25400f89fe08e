"""The connections of one store, where its blocking calls run, and the order in which all of it is opened and closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from probate.core import errors, private_files
from probate.core.aio.offload import Inline, Offload, Thread
from probate.core.logs import facts
from probate.store.sqlite import group_commit, schema
from probate.store.sqlite.files import lock, watermark
from probate.store.sqlite.files.checkpoints import Checkpoints
from probate.store.sqlite.files.durability import Durability
from probate.store.sqlite.files.file_checks import StoreFiles

log = logging.getLogger(__name__)


class Database(NamedTuple):
    """What a `SqliteStore` works on."""

    writer: apsw.Connection
    reader: apsw.Connection  # in memory, the writer itself
    offload: Offload  # where the writer's blocking calls run
    turn: int  # transactions evaluated before others get the loop
    checkpoints: Checkpoints | None
    durability: Durability | None  # None in memory
    close: Callable[[], None]


class _Opened(NamedTuple):
    """What `_connect` has opened, in the order in which it is closed from the last to the first."""

    held: lock.ProcessLock
    database_lock: lock.DatabaseLock
    writer: apsw.Connection
    reader: apsw.Connection
    beside: apsw.Connection
    durability: Durability

    def close(self) -> None:
        """Close the connections, and only then what is locked: closing a descriptor of the database drops SQLite's locks on it.

        The last connection to be closed moves the WAL into the database and removes it, by name. If the files are not those that
        were opened, that would remove the WAL of whoever uses the name now.
        """
        if not self.durability.is_intact():
            for connection in (self.reader, self.beside, self.writer):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        for connection in (self.reader, self.beside, self.writer):
            _close(connection)
        self.durability.close()
        self.database_lock.release()
        self.held.release()


async def in_file(path: Path, vfs: str | None = None) -> Database:
    """The database in this file, made if it is missing. `CannotOpen` says why it must not be used, and what to do.

    `vfs` names the SQLite VFS to open it with; None is the system's own.
    """
    opened = await _connected(path, vfs)
    thread = Thread("probate-store")
    checkpoints = Checkpoints(opened.beside, path, opened.durability.watermark)

    def close() -> None:
        thread.close()
        checkpoints.close()
        opened.close()
        checkpoints.release_file()

    return Database(opened.writer, opened.reader, thread, group_commit.TURN, checkpoints, opened.durability, close)


async def _connected(path: Path, vfs: str | None) -> _Opened:
    """The connections. If the caller is cancelled, they are closed as soon as they are there."""
    opening = asyncio.ensure_future(asyncio.to_thread(_connect, path, vfs))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(lambda done: done.exception() or done.result().close())
        raise


def in_memory() -> Database:
    """A database in memory. With one connection, a group must be evaluated and committed before anybody reads."""
    db = apsw.Connection(":memory:")
    schema.keep_plans(db)
    schema.prepare(db)
    return Database(db, db, Inline(), group_commit.GROUP, None, None, lambda: None)


def _connect(path: Path, vfs: str | None) -> _Opened:
    try:
        path = path.resolve()  # two names of one file are one store
        schema.check_place(path)
        held = lock.ProcessLock(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links that lead to each other
        raise errors.CannotOpen(f"{path} cannot be opened: {_reason(error)}. {_WHAT_TO_DO}") from error
    with contextlib.ExitStack() as undo:
        undo.callback(held.withdraw)
        try:
            opened = _open(path, vfs, held, undo)
        except (apsw.Error, OSError) as error:
            raise errors.CannotOpen(f"{path} cannot be opened: {_reason(error)}. {_WHAT_TO_DO}") from error
        undo.pop_all()
        return opened


_WHAT_TO_DO = "Give this user the right to read and write it and its folder, or name another file"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _open(path: Path, vfs: str | None, held: lock.ProcessLock, undo: contextlib.ExitStack) -> _Opened:
    """All of it, in order. `undo` closes what is open if a later step fails."""
    recorded = watermark.read(path)
    watermark.check_is_there(path, recorded)
    if private_files.create(path):  # SQLite gives the WAL and the shared memory the mode of the database
        undo.callback(_remove_if_empty, path)
    schema.check_is_a_database(path)  # before it is locked: closing a descriptor of the file drops locks
    database_lock = lock.DatabaseLock(path)
    undo.callback(database_lock.release)
    writer = schema.open_file(path, vfs, check=lambda db: watermark.check_holds(path, recorded, db))
    undo.callback(_close, writer)
    for end in ("", "-wal", "-shm"):
        private_files.narrow(path.with_name(path.name + end))
    reader = schema.open_reader(path, vfs)
    undo.callback(_close, reader)
    beside = schema.open_beside(path, vfs)
    undo.callback(_close, beside)
    now = watermark.identify(writer)
    files = StoreFiles(path, held.fileno(), writer.pragma("page_size"))
    undo.callback(files.close)
    writer.set_wal_hook(files.note_wal)
    return _Opened(held, database_lock, writer, reader, beside, Durability(path, files, watermark.Watermark(path, now)))


def _close(connection: apsw.Connection) -> None:
    try:
        connection.close()
    except apsw.Error as error:  # the WAL could not be moved into the database: it stays, and the next start reads it
        log.warning("store connection did not close cleanly", extra=facts(error=str(error)))


def _remove_if_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        if not path.stat().st_size:
            path.unlink()
