"""One process per store file.

SQLite would let several processes write one file, but revisions, watches and group commit assume that all writes pass
through one process. The lock is the operating system's, on a file beside the store, so it cannot outlive its holder.

Somebody may remove that file, and then a second process could lock a new one of the same name. So the database itself is locked as
well, at a byte that SQLite never uses: `DatabaseLock`.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from probate.core import errors, private_files

_LOCK_BYTE = 0x4000_0000 + 1024
"""In the page at 1 GiB, which SQLite leaves empty and locks the first 512 bytes of."""


class ProcessLock:
    """Held from construction until `release`. `CannotOpen` names the process that holds it already."""

    def __init__(self, store: Path) -> None:
        path = store.with_name(store.name + "-lock")
        self._path = path
        try:
            self._is_new = private_files.create(path)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise errors.CannotOpen(f"{path} cannot be made: {error.strerror}. Is the folder writable?") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise errors.CannotOpen(
                f"{store} is in use by process {holder}. Stop that one first, or give this one another file"
            ) from error
        private_files.narrow(path)
        self._write_pid()

    def fileno(self) -> int:
        """The descriptor of the lock file."""
        return self._file

    def _write_pid(self) -> None:
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            # On a full disk the lock still holds; only its holder's name stays unknown to others.
            return

    def withdraw(self) -> None:
        """Release, after a file that turned out to be no store: then no lock file stays beside what is not ours."""
        if self._is_new:
            self._path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let others in. The file stays: removing it would let two processes hold two files of the same name."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class DatabaseLock:
    """Held on the database file from construction until `release`. `CannotOpen` if another process holds it.

    Open file descriptions own the lock, where the system has such locks (Linux): otherwise closing any descriptor of the file in
    this process would drop it, as it drops those of SQLite. So `release` comes after all connections are closed.
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
        """Let others in."""
        os.close(self._file)


def _lock_byte(file: int) -> None:
    command = getattr(fcntl, "F_OFD_SETLK", None)
    if command is None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LOCK_BYTE)
    else:
        fcntl.fcntl(file, command, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCK_BYTE, 1, 0))
