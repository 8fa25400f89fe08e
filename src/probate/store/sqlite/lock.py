"""One process per store file.

SQLite would let several processes write one file, but revisions, watches and group commit assume that all writes pass
through one process. The lock is the operating system's, on a file beside the store, so it cannot outlive its holder.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from probate import errors


class ProcessLock:
    """Held from construction until `release`. `CannotOpen` names the process that holds it already."""

    def __init__(self, store: Path) -> None:
        path = store.with_name(store.name + "-lock")
        self._is_new = not path.exists()
        self._path = path
        try:
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
        self._write_pid()

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
