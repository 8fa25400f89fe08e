"""Reads from one snapshot of the database, which is kept open until the store has changed.

A read on its own would take the file's locks, begin a snapshot and end it again, which costs several times the read itself. So all
reads share a snapshot until the store has something new to show: it is released when a group has been made durable, before any
watcher or caller is notified, and after each step between groups. (A snapshot kept open through a checkpoint would prevent SQLite
from restarting its write-ahead log.)

A snapshot taken while a commit is in progress may be ahead of what has been published. It is never behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from probate.core import errors
from probate.store.contract import Revision
from probate.store.sqlite import reads, sqlite_failures

P = ParamSpec("P")
T = TypeVar("T")


class SnapshotReader:
    """All reads of one store.

    In memory no snapshot is kept (`keeps_snapshot`): there the only connection also writes, and reads need no locks.
    """

    def __init__(self, db: apsw.Connection, *, keeps_snapshot: bool) -> None:
        self._db = db
        self._cursor = db.cursor()
        self._keeps_snapshot = keeps_snapshot
        self._snapshot: Revision | None = None  # the revision of the open snapshot

    def revision(self) -> Revision:
        """Returns the revision of the snapshot; opens one if necessary."""
        if self._snapshot is not None:
            return self._snapshot
        try:
            if self._keeps_snapshot:
                self._cursor.execute("BEGIN")
            revision = reads.revision(self._cursor)
        except apsw.Error as error:
            self._reset()
            raise sqlite_failures.translate(error) from error
        if self._keeps_snapshot:
            self._snapshot = revision
        return revision

    def read(self, call: Callable[Concatenate[apsw.Cursor, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns what `call` reads from the snapshot. `call` must not await, and must read its cursor to the end."""
        if self._snapshot is None and self._keeps_snapshot:
            self.revision()
        try:
            return call(self._cursor, *args, **kwargs)
        except apsw.Error as error:
            self._reset()
            raise sqlite_failures.translate(error) from error
        except UnicodeDecodeError as error:  # of a key
            self._reset()
            raise errors.StoreDamaged(f"the store's file has a key that is not UTF-8: {error}. Restore a copy") from error

    def release(self) -> None:
        """Ends the snapshot: the next read opens a new one."""
        if self._snapshot is not None:
            self._snapshot = None
            self._cursor.execute("COMMIT")

    def _reset(self) -> None:
        self._snapshot = None
        if self._keeps_snapshot and self._db.in_transaction:
            self._db.execute("ROLLBACK")
