"""The connections of one store, where its blocking calls run, and the order in which all of it is opened and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from probate import errors
from probate.aio.offload import Inline, Offload, Thread
from probate.store.sqlite import groups, lock, schema
from probate.store.sqlite.checkpoints import Checkpoints


class Database(NamedTuple):
    """What a `SqliteStore` works on."""

    writer: apsw.Connection
    reader: apsw.Connection  # in memory, the writer itself
    offload: Offload  # where the writer's blocking calls run
    turn: int  # transactions evaluated before others get the loop
    checkpoints: Checkpoints | None
    close: Callable[[], None]


class _Connections(NamedTuple):
    held: lock.ProcessLock
    writer: apsw.Connection
    reader: apsw.Connection
    beside: apsw.Connection

    def close(self) -> None:
        for connection in (self.reader, self.beside, self.writer):
            connection.close()
        self.held.release()


async def in_file(path: Path) -> Database:
    """The database in this file, made if it is missing. `CannotOpen` says why it must not be used, and what to do."""
    opened = await _connected(path)
    thread = Thread("probate-store")
    checkpoints = Checkpoints(opened.beside, path)

    def close() -> None:
        thread.close()
        checkpoints.close()
        opened.reader.close()
        opened.writer.close()
        checkpoints.release_file()
        opened.held.release()

    return Database(opened.writer, opened.reader, thread, groups.TURN, checkpoints, close)


async def _connected(path: Path) -> _Connections:
    """The connections. If the caller is cancelled, they are closed as soon as they are there."""
    opening = asyncio.ensure_future(asyncio.to_thread(_connect, path))
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
    return Database(db, db, Inline(), groups.GROUP, None, lambda: None)


def _connect(path: Path) -> _Connections:
    path = path.resolve()  # two names of one file are one store
    schema.check_place(path)
    held = lock.ProcessLock(path)
    try:
        return _Connections(held, schema.open_file(path), schema.open_reader(path), schema.open_beside(path))
    except apsw.Error as error:
        held.withdraw()
        raise errors.CannotOpen(f"{path} cannot be opened: {error}") from error
    except BaseException:
        held.withdraw()
        raise
