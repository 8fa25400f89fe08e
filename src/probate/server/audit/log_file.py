"""The file of the audit log: lines are added at its end, and when it is full it is put aside and a new one begun.

    audit.log                              what is written now
    audit-2026-01-01T00-00-00.000.log      what was put aside then

Those put aside are deleted when there are more than `backups` of them, or when they are older than `days`; 0 keeps all of them. A
file that somebody else has moved away is begun anew. Only its owner can read it.

A write is whole or not at all: what a full disk has cut off is taken back, so that it can be written again. Nothing here waits for
the disk itself: what the machine has not written when it loses its power is lost.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

from probate.core import private_files
from probate.core.clock import Clock

STDOUT = "-"
_STAMP = "%Y-%m-%dT%H-%M-%S.%f"
MEGABYTE = 1024 * 1024

log = logging.getLogger(__name__)


class Out(Protocol):
    """Where lines go. Used by one thread."""

    def write(self, lines: bytes) -> None:
        """Add these lines, all of them or (with an `OSError`) none."""
        ...

    def close(self) -> None:
        """No more will come."""
        ...


class Limits(NamedTuple):
    """How large a file gets in bytes, how many are kept besides, and for how many days."""

    size: int = 100 * MEGABYTE
    backups: int = 10
    days: int = 0


class RotatingFile:
    """One file, and those put aside. `OSError` from any method: nothing was written, and it may be tried again."""

    def __init__(self, path: Path, limits: Limits, clock: Clock) -> None:
        self._path = path
        self._limits = limits
        self._clock = clock
        self._file = -1
        self._identity = (0, 0)
        self._size = 0
        self._is_too_large = False
        self._open()
        for _, before in self._put_aside_before():
            private_files.narrow(before)

    def write(self, lines: bytes) -> None:
        if self._file < 0 or not self._is_in_place():
            self._open()
        if self._size and self._size + len(lines) > self._limits.size:
            self._put_aside()
        before = self._size
        try:
            _write_all(self._file, lines)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            self._close()
            raise
        self._size += len(lines)

    def close(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def _open(self) -> None:
        self._close()
        private_files.create_folder(self._path.parent)
        private_files.create(self._path)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            os.close(file)
            raise OSError(f"{self._path} is no regular file")
        private_files.narrow(self._path)
        self._file, self._identity, self._size = file, (found.st_dev, found.st_ino), found.st_size

    def _is_in_place(self) -> bool:
        try:
            found = self._path.stat()
        except OSError:
            return False
        self._size = found.st_size
        return (found.st_dev, found.st_ino) == self._identity

    def _put_aside(self) -> None:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        target = self._aside(now)
        while target.exists():
            now += timedelta(milliseconds=1)
            target = self._aside(now)
        try:
            self._path.rename(target)
        except OSError as error:  # rather a file that is too large than events that are lost
            if not self._is_too_large:
                log.warning("the audit log is full and cannot be put aside, so it grows: %s", error)
            self._is_too_large = True
            return
        self._is_too_large = False
        self._open()
        with contextlib.suppress(OSError):  # what cannot be deleted now is with the next
            self._tidy()

    def _aside(self, when: datetime) -> Path:
        return self._path.with_name(f"{self._path.stem}-{when.strftime(_STAMP)[:-3]}{self._path.suffix}")

    def _tidy(self) -> None:
        found = sorted(self._put_aside_before(), reverse=True)
        oldest = datetime.fromtimestamp(self._clock.now(), UTC) - timedelta(days=self._limits.days)
        for number, (when, path) in enumerate(found):
            is_over = 0 < self._limits.backups <= number
            if is_over or (self._limits.days > 0 and when < oldest):
                path.unlink(missing_ok=True)

    def _put_aside_before(self) -> list[tuple[datetime, Path]]:
        pattern = re.compile(
            rf"{re.escape(self._path.stem)}-(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{3}}){re.escape(self._path.suffix)}"
        )
        matches = [(path, pattern.fullmatch(path.name)) for path in self._path.parent.iterdir()]
        return [(datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC), path) for path, match in matches if match is not None]


class Stdout:
    """The process's standard output."""

    def __init__(self, file: int = 1) -> None:
        self._file = file

    def write(self, lines: bytes) -> None:
        _write_all(self._file, lines)

    def close(self) -> None:
        """It is not ours to close."""


def _write_all(file: int, lines: bytes) -> None:
    left = memoryview(lines)
    while left:
        left = left[os.write(file, left) :]


def opened(path: str, limits: Limits, clock: Clock) -> Out:
    """The file at this path, or standard output for "-"."""
    return Stdout() if path == STDOUT else RotatingFile(Path(path), limits, clock)
