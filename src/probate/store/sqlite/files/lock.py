"""Locks that allow only one process to open a store file.

SQLite lets several processes write to one file, but revisions, watches and group commit require that all writes pass through one
process. `ProcessLock` is a lock of the operating system on a file beside the store, so it cannot outlive its holder.

If a user removes that lock file, a second process could lock a new file of the same name. So `DatabaseLock` locks the database
itself as well, at a byte that SQLite never uses.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from probate.core import errors, private_files

_LOCK_BYTE = 0x4000_0000 + 1024
"""In the page at 1 GiB, which SQLite keeps empty; SQLite itself locks only the first 512 bytes of that page."""


class ProcessLock:
    """Held from construction until `release`. Raises `CannotOpen`, naming the holder, if another process holds it."""

    def __init__(self, store: Path) -> None:
        path = store.with_name(store.name + "-lock")
        self._path = path
        try:
            self._is_new = private_files.create(path)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise errors.CannotOpen(f"{path} cannot be created: {error.strerror}. Is the folder writable?") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise errors.CannotOpen(
                f"{store} is in use by process {holder}. Stop that one first, or give this one another file"
            ) from error
        private_files.restrict(path)
        self._write_pid()

    def fileno(self) -> int:
        """Returns the descriptor of the lock file."""
        return self._file

    def _write_pid(self) -> None:
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            # On a full disk the lock still holds; other processes just cannot read the id of its holder.
            return

    def withdraw(self) -> None:
        """Releases the lock of a file that turned out not to be a store, and removes the lock file if this process created it."""
        if self._is_new:
            self._path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Releases the lock. Keeps the file: removing it would allow two processes to lock two files of the same name."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class DatabaseLock:
    """Held on the database file from construction until `release`. Raises `CannotOpen` if another process holds it.

    The lock belongs to the open file description where the system supports that (Linux). Elsewhere, closing any descriptor of the
    file in this process drops the lock, and also drops SQLite's own locks. So call `release` after all connections are closed.
    """

    def __init__(self, store: Path) -> None:
        self._file = os.open(store, os.O_RDWR | os.O_CLOEXEC)
        try:
            _lock_byte(self._file)
        except OSError as error:
            os.close(self._file)
            raise errors.CannotOpen(
                f"{store} is in use by another process, whose lock file {store.name}-lock was removed. Stop that process first"
            ) from error

    def release(self) -> None:
        """Releases the lock."""
        os.close(self._file)


def _lock_byte(file: int) -> None:
    command = getattr(fcntl, "F_OFD_SETLK", None)
    if command is None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LOCK_BYTE)
    else:
        fcntl.fcntl(file, command, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCK_BYTE, 1, 0))
