"""What SQLite's errors mean to somebody who uses the store."""

from __future__ import annotations

import errno

import apsw

from probate.core import errors

NO_ROOM = "the disk of the store is full: nothing was written. Reads go on; make room and try again"


def translate(error: apsw.Error) -> errors.ApiError:
    """The store's own error for an error of SQLite."""
    match error:
        case apsw.FullError():
            return errors.StoreFull(NO_ROOM)
        case apsw.IOError() if _is_out_of_room(error):
            return errors.StoreFull(NO_ROOM)
        case apsw.CorruptError() | apsw.NotADBError():
            return errors.StoreDamaged(f"the store's file is damaged: {error}. Stop the server and restore a copy")
        case apsw.ConnectionClosedError():
            return closed()
        case _:
            return errors.StoreUnavailable(f"the store's file cannot be used now: {error}. Nothing was written")


def closed() -> errors.StoreUnavailable:
    """The answer of a store that was closed."""
    return errors.StoreUnavailable("the store is closed")


def _is_out_of_room(error: apsw.Error) -> bool:
    # The shared-memory file beside the store cannot grow on a full disk: that comes as an I/O error.
    out_of_room = {apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP}
    return getattr(error, "extendedresult", 0) in out_of_room or getattr(error, "errno", None) == errno.ENOSPC
