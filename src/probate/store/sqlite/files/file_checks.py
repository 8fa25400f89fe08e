"""Checks that the files of a running store are still those that it opened, and still hold what it wrote.

A process that has files open goes on writing to them after somebody removed or replaced them: nothing fails, and everything is
gone with the process. A truncated write-ahead log (WAL) loses what was acknowledged, and SQLite does not notice either. So each
second, and whenever somebody asks whether the server is ready, `check_names` asks

- whether each name still leads to the file that was opened (database, WAL, lock file),
- whether a file has become shorter: those of a running store only grow.

After each group commit, before anybody is told that it succeeded, `check_commit` asks

- whether something in the folder was made, removed or renamed since: then the names are checked as above,
- whether the end of the WAL that the group before had written is still there. The size would not be enough: a write behind the
  end of a truncated file makes it long again, with a hole.

That is one `stat` and one read of a few pages: about 3 us, and ten times that where system calls are slow.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from probate.core import errors

CHECK_SECONDS = 1.0
"""How often the files are looked at while nothing is written."""
_HEADER, _FRAME_HEADER, _SALTS = 32, 24, slice(8, 16)
"""Bytes of the header of a WAL, and of that of each frame in it, before its page. Where in the latter there are two numbers that
change each time the WAL begins anew. (SQLite's file format, section 4.)"""
_NEAR = 16
"""Frames that are read together with those between them."""
_LOOKS = 64
"""Commits after a change in the folder that are followed by a look at all names. The clock of a file system goes in steps of some
milliseconds, so what changes within the same step does not show."""


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
        self._folder = path.parent
        self._folder_changed = -1  # when, by the clock of the file system
        self._looks = 0  # how many commits are still to be followed by a look at all names
        self._wal_path = wal
        self._frame_bytes = _FRAME_HEADER + page_bytes
        self._frames = 0  # in the WAL, after the last commit
        self._checked = 0  # and when it was last looked at
        self._last = b""  # the frame at its end then

    def note_wal(self, _db: apsw.Connection, _name: str, frames: int) -> int:
        """SQLite's hook: a commit has made the WAL so long."""
        self._frames = frames
        return apsw.SQLITE_OK

    def check_names(self) -> None:
        """`StoreFilesLost` if a file was removed, replaced or truncated."""
        for one in self._names:
            one.check()

    def check_commit(self) -> None:
        """`StoreFilesLost` if a name leads elsewhere, or the WAL does not hold the commit before and this one."""
        try:
            changed = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 half of the time that Path.stat takes
        except OSError:
            changed = -1
        if changed != self._folder_changed:
            self._folder_changed, self._looks = changed, _LOOKS
        if self._looks or changed == -1:
            self._looks -= 1
            self.check_names()
        if self._frames:
            self._check_wal()

    def _check_wal(self) -> None:
        """The frame that was the last one before must be as it was, unless SQLite has begun the WAL anew since."""
        before, last = self._two_frames(self._checked, self._frames)
        if len(last) != self._frame_bytes:
            raise self._overwritten()
        has_begun_anew = self._last[_SALTS] != last[_SALTS]
        if self._last and (not _follows(self._last, last) if has_begun_anew else before != self._last):
            raise self._overwritten()
        self._checked, self._last = self._frames, last

    def _two_frames(self, first: int, second: int) -> tuple[bytes, bytes]:
        """Two frames by their numbers, counted from 1. By one read if they lie close to each other, as those of most commits do."""
        size = self._frame_bytes
        if first and 0 <= second - first < _NEAR:
            both = os.pread(self._wal, (second - first + 1) * size, _HEADER + (first - 1) * size)
            return both[:size], both[(second - first) * size :]
        one, other = (os.pread(self._wal, size, _HEADER + (number - 1) * size) if number else b"" for number in (first, second))
        return one, other

    def _overwritten(self) -> errors.StoreFilesLost:
        return lost(f"{self._wal_path} (its write-ahead log) was truncated or overwritten by another program")

    def close(self) -> None:
        """Let go of what was opened for the checks."""
        os.close(self._wal)


def _follows(before: bytes, after: bytes) -> bool:
    """Whether SQLite itself began the WAL anew between these two frames: each time it adds 1 to the first salt."""
    salt, new_salt = (int.from_bytes(frame[8:12], "big") for frame in (before, after))
    return 0 < (new_salt - salt) % (1 << 32) < (1 << 16)


def lost(what: str) -> errors.StoreFilesLost:
    """The error for files that are not as they were left."""
    return errors.StoreFilesLost(
        f"{what} while the server was running. The server has stopped writing, and serves reads where it can. "
        "Save what you need, stop the server, and restore the files"
    )
