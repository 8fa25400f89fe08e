"""Checks that the files of a running store are still those that it opened, and still hold what it wrote.

After another program has removed or replaced an open file, writes to it still succeed, and all of them are lost when the
process ends. A truncated write-ahead log (WAL) loses acknowledged writes, and SQLite does not notice that either. So once a second,
and whenever readiness is checked, `check_names` verifies

- that each name still leads to the file that was opened (database, WAL, lock file),
- that no file has become shorter: the files of a running store only grow.

After each group commit, before its callers are notified of success, `check_commit` verifies

- if anything in the folder was created, removed or renamed since the last time: the names, as above,
- that the end of the WAL as of the previous group is still there. Checking the size would not suffice: a write behind the end of a
  truncated file makes it long again, with a hole.

That costs one `stat` and one read of a few pages: about 3 us, and ten times that where system calls are slow.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from probate.core import errors

CHECK_SECONDS = 1.0
"""How often the files are checked while nothing is written."""
_HEADER, _FRAME_HEADER, _SALTS = 32, 24, slice(8, 16)
"""The sizes in bytes of the WAL header and of the header of each frame before its page, and the place of the salts in the latter:
two numbers that change each time the WAL restarts. (SQLite's file format, section 4.)"""
_MAX_DISTANCE = 16
"""Two frames closer than this are read by one call, together with the frames between them."""
_NAME_CHECKS = 64
"""The number of commits after a change in the folder that are followed by a check of all names. The clock of a file system advances
in steps of some milliseconds, so a second change within the same step does not show in the folder's modification time."""


class _NamedFile:
    """One file by its name. `check` raises if the name leads elsewhere or the file has become shorter."""

    def __init__(self, path: Path, description: str, file: int | None = None) -> None:
        self._path, self._description = path, description
        status = path.stat() if file is None else os.fstat(file)
        self._identity = (status.st_ino, status.st_dev)
        self._size = 0

    def check(self) -> None:
        min_size = self._size  # read before the stat: a concurrent check on another thread may store a later size
        try:
            status = os.stat(self._path)  # noqa: PTH116 half of the time that Path.stat takes
        except FileNotFoundError:
            raise files_lost(f"{self._path} ({self._description}) was removed") from None
        except OSError as error:
            raise files_lost(f"{self._path} ({self._description}) cannot be reached any more: {error.strerror}") from error
        if (status.st_ino, status.st_dev) != self._identity:
            raise files_lost(f"{self._path} ({self._description}) was replaced by another file")
        if status.st_size < min_size:
            raise files_lost(f"{self._path} ({self._description}) was truncated from {min_size} bytes to {status.st_size}")
        self._size = status.st_size


class StoreFiles:
    """The files of one open store. SQLite calls `on_wal_commit`; the commit thread calls `check_commit`."""

    def __init__(self, path: Path, lock_file: int, page_bytes: int) -> None:
        wal = path.with_name(path.name + "-wal")
        self._wal = os.open(wal, os.O_RDONLY | os.O_CLOEXEC)  # SQLite holds no locks on the WAL that closing this would drop
        self._names = (
            _NamedFile(path, "the database"),
            _NamedFile(wal, "its write-ahead log", self._wal),
            _NamedFile(path.with_name(path.name + "-lock"), "its lock file", lock_file),
        )
        self._folder = path.parent
        self._folder_mtime = -1
        self._pending_name_checks = 0  # how many more commits are followed by a check of all names
        self._wal_path = wal
        self._frame_bytes = _FRAME_HEADER + page_bytes
        self._frames = 0  # in the WAL, after the last commit
        self._checked_frames = 0  # in the WAL, at the last check
        self._last_frame = b""  # the last frame at that check

    def on_wal_commit(self, _db: apsw.Connection, _name: str, frames: int) -> int:
        """SQLite's WAL hook: records the length of the WAL after a commit."""
        self._frames = frames
        return apsw.SQLITE_OK

    def check_names(self) -> None:
        """Raises `StoreFilesLost` if a file was removed, replaced or truncated."""
        for file in self._names:
            file.check()

    def check_commit(self) -> None:
        """Raises `StoreFilesLost` if a name leads elsewhere, or if the WAL does not hold the previous commit and this one."""
        try:
            mtime = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 half of the time that Path.stat takes
        except OSError:
            mtime = -1
        if mtime != self._folder_mtime:
            self._folder_mtime, self._pending_name_checks = mtime, _NAME_CHECKS
        if self._pending_name_checks or mtime == -1:
            self._pending_name_checks -= 1
            self.check_names()
        if self._frames:
            self._check_wal()

    def _check_wal(self) -> None:
        """Checks that the last frame of the previous check is unchanged, unless SQLite has restarted the WAL since."""
        before, last = self._read_two_frames(self._checked_frames, self._frames)
        if len(last) != self._frame_bytes:
            raise self._overwritten()
        has_restarted = self._last_frame[_SALTS] != last[_SALTS]
        if self._last_frame and (not _is_restart(self._last_frame, last) if has_restarted else before != self._last_frame):
            raise self._overwritten()
        self._checked_frames, self._last_frame = self._frames, last

    def _read_two_frames(self, first: int, second: int) -> tuple[bytes, bytes]:
        """Returns two frames by their numbers, counted from 1. Uses one read if they are close, as they are after most commits."""
        size = self._frame_bytes
        if first and 0 <= second - first < _MAX_DISTANCE:
            both = os.pread(self._wal, (second - first + 1) * size, _HEADER + (first - 1) * size)
            return both[:size], both[(second - first) * size :]
        frames = [os.pread(self._wal, size, _HEADER + (number - 1) * size) if number else b"" for number in (first, second)]
        return frames[0], frames[1]

    def _overwritten(self) -> errors.StoreFilesLost:
        return files_lost(f"{self._wal_path} (its write-ahead log) was truncated or overwritten by another program")

    def close(self) -> None:
        """Closes the descriptor that the checks use."""
        os.close(self._wal)


def _is_restart(before: bytes, after: bytes) -> bool:
    """Returns whether SQLite itself restarted the WAL between these two frames: each time it adds 1 to the first salt."""
    salt, new_salt = (int.from_bytes(frame[8:12], "big") for frame in (before, after))
    return 0 < (new_salt - salt) % (1 << 32) < (1 << 16)


def files_lost(problem: str) -> errors.StoreFilesLost:
    """Returns the error for files that are not as the store left them."""
    return errors.StoreFilesLost(
        f"{problem} while the server was running. The server has stopped writing, and serves reads where it can. "
        "Save what you need, stop the server, and restore the files"
    )
