"""The connection that reads, held at one moment of the store until it is let go.

A read of its own would take the file's locks, begin a snapshot and end it again, and that costs several times what is read. So a
snapshot is kept for all reads until the store has something new to show: it is let go when a group has been made durable, before
anybody is told, and after each step that is done between groups. (A snapshot kept through a checkpoint would keep SQLite from
beginning its write-ahead log anew.)

A moment can be ahead of what has been announced, if its snapshot was taken while a commit was under way. It is never behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from probate.core import errors
from probate.store.contract import Revision
from probate.store.sqlite import failures, reads

P = ParamSpec("P")
T = TypeVar("T")


class Moments:
    """All reads of one store. In memory nothing is held (`holds`): there the one connection also writes, and nothing costs."""

    def __init__(self, db: apsw.Connection, *, holds: bool) -> None:
        self._db = db
        self._cursor = db.cursor()
        self._holds = holds
        self._held: Revision | None = None

    def revision(self) -> Revision:
        """The store's revision at this moment."""
        if self._held is not None:
            return self._held
        try:
            if self._holds:
                self._cursor.execute("BEGIN")
            found = reads.revision(self._cursor)
        except apsw.Error as error:
            self._start_over()
            raise failures.translate(error) from error
        if self._holds:
            self._held = found
        return found

    def read(self, call: Callable[Concatenate[apsw.Cursor, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `call` reads at this moment. It must not await, and must not leave its cursor in mid-answer."""
        if self._held is None and self._holds:
            self.revision()
        try:
            return call(self._cursor, *args, **kwargs)
        except apsw.Error as error:
            self._start_over()
            raise failures.translate(error) from error
        except UnicodeDecodeError as error:  # of a key
            self._start_over()
            raise errors.StoreDamaged(f"the store's file has a key that is not UTF-8: {error}. Restore a copy") from error

    def let_go(self) -> None:
        """The next read takes a new moment."""
        if self._held is not None:
            self._held = None
            self._cursor.execute("COMMIT")

    def _start_over(self) -> None:
        self._held = None
        if self._holds and self._db.in_transaction:
            self._db.execute("ROLLBACK")
