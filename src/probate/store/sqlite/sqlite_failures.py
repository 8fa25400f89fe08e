"""Translates SQLite's errors into errors of the store."""

from __future__ import annotations

import errno

import apsw

from probate.core import errors

DISK_FULL = "the disk of the store is full: nothing was written. Reads continue; free some space and try again"


def translate(error: apsw.Error) -> errors.ApiError:
    """Returns the store's error for an error of SQLite."""
    match error:
        case apsw.FullError():
            return errors.StoreFull(DISK_FULL)
        case apsw.IOError() if _is_disk_full(error):
            return errors.StoreFull(DISK_FULL)
        case apsw.CorruptError() | apsw.NotADBError():
            return errors.StoreDamaged(f"the store's file is damaged: {error}. Stop the server and restore a copy")
        case apsw.ConnectionClosedError():
            return closed()
        case _:
            return errors.StoreUnavailable(f"the store's file cannot be used now: {error}. Nothing was written")


def closed() -> errors.StoreUnavailable:
    """Returns the error of a closed store."""
    return errors.StoreUnavailable("the store is closed")


def _is_disk_full(error: apsw.Error) -> bool:
    # On a full disk the shared-memory file beside the store cannot grow, which SQLite reports as an I/O error.
    out_of_space = {apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP}
    return getattr(error, "extendedresult", 0) in out_of_space or getattr(error, "errno", None) == errno.ENOSPC
