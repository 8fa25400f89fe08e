"""Checks that the files of a running store are still those that it opened, and still hold what it wrote.

A process that has files open goes on writing to them after somebody removed or replaced them: nothing fails, and everything is
gone with the process. A truncated write-ahead log (WAL) loses what was acknowledged, and SQLite does not notice either. So after
each group commit, before anybody is told that it succeeded, `check_commit` asks

- whether each name still leads to the file that was opened (database, WAL, lock file),
- whether a file has become shorter: those of a running store only grow,
- whether the end of the WAL that the group before had written is still there. The size is not enough: a write behind the end of a
  truncated file makes it long again, with a hole.

That is three `stat` calls and three reads of a page or less: about 10 us. While nothing is written, `check_names` asks the first
two.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from probate import errors

CHECK_SECONDS = 1.0
"""How often the files are looked at while nothing is written."""
_HEADER, _FRAME_HEADER = 32, 24
"""Bytes of the header of a WAL, and of each frame in it; a page follows the latter. (SQLite's file format, section 4.)"""


class _Named:
    """One file by its name. `check` raises if the name leads elsewhere or the file has become shorter."""

    def __init__(self, path: Path, what: str, file: int | None = None) -> None:
        self._path, self._what = path, what
        found = path.stat() if file is None else os.fstat(file)
        self._identity = (found.st_ino, found.st_dev)
        self._size = 0

    def check(self) -> None:
        least = self._size  # before the look: another thread that looks at the same time may note a later size
        try:
            found = os.stat(self._path)  # noqa: PTH116 half of the time that Path.stat takes
        except FileNotFoundError:
            raise lost(f"{self._path} ({self._what}) was removed") from None
        except OSError as error:
            raise lost(f"{self._path} ({self._what}) cannot be reached any more: {error.strerror}") from error
        if (found.st_ino, found.st_dev) != self._identity:
            raise lost(f"{self._path} ({self._what}) was replaced by another file")
        if found.st_size < least:
            raise lost(f"{self._path} ({self._what}) was truncated from {least} bytes to {found.st_size}")
        self._size = found.st_size


class StoreFiles:
    """The files of one open store. `note_wal` is for SQLite to call; `check_commit` is for the thread that commits."""

    def __init__(self, path: Path, lock_file: int, page_bytes: int) -> None:
        wal = path.with_name(path.name + "-wal")
        self._wal = os.open(wal, os.O_RDONLY | os.O_CLOEXEC)  # SQLite holds no locks on this one that closing it would drop
        self._names = (
            _Named(path, "the database"),
            _Named(wal, "its write-ahead log", self._wal),
            _Named(path.with_name(path.name + "-lock"), "its lock file", lock_file),
        )
        self._wal_path = wal
        self._frame_bytes = _FRAME_HEADER + page_bytes
        self._frames = 0  # in the WAL, after the last commit
        self._checked = 0  # and when it was last looked at
        self._header = b""
        self._last = b""

    def note_wal(self, _db: apsw.Connection, _name: str, frames: int) -> int:
        """SQLite's hook: a commit has made the WAL so long."""
        self._frames = frames
        return apsw.SQLITE_OK

    def check_names(self) -> None:
        """`StoreFilesLost` if a file was removed, replaced or truncated."""
        for one in self._names:
            one.check()

    def check_commit(self) -> None:
        """The same, and whether the WAL still ends as the commit before left it. Only for the thread that commits."""
        self.check_names()
        if self._frames:
            self._check_wal()

    def _check_wal(self) -> None:
        header = os.pread(self._wal, _HEADER, 0)
        if header == self._header:
            if self._frame(self._checked) != self._last:
                raise self._overwritten()
        elif self._header and not _has_begun_anew(self._header, header):
            raise self._overwritten()
        self._header, self._checked, self._last = header, self._frames, self._frame(self._frames)
        if len(self._last) != self._frame_bytes:
            raise self._overwritten()

    def _frame(self, number: int) -> bytes:
        return os.pread(self._wal, self._frame_bytes, _HEADER + (number - 1) * self._frame_bytes)

    def _overwritten(self) -> errors.StoreFilesLost:
        return lost(f"{self._wal_path} (its write-ahead log) was truncated or overwritten by another program")

    def close(self) -> None:
        """Let go of what was opened for the checks."""
        os.close(self._wal)


def _has_begun_anew(before: bytes, after: bytes) -> bool:
    """Whether SQLite itself began the WAL anew, as often as you like: then a counter and the first salt grow by the same number."""
    (counter, salt), (new_counter, new_salt) = (
        [int.from_bytes(header[at : at + 4], "big") for at in (12, 16)] for header in (before, after)
    )
    grown = (new_counter - counter) % (1 << 32)
    return grown > 0 and (new_salt - salt) % (1 << 32) == grown


def lost(what: str) -> errors.StoreFilesLost:
    """The error for files that are not as they were left."""
    return errors.StoreFilesLost(
        f"{what} while the server was running. Nothing is written any more; what can still be read, is. "
        "Save what you need, stop the server, and restore the files"
    )
