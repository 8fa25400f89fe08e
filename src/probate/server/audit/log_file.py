"""The file of the audit log. Events are appended; a full file is rotated.

    audit.log                              the current file
    audit-2026-01-01T00-00-00.000.log      a file that was rotated at this time

Rotated files are deleted when there are more than `backups` of them, or when they are older than `days`; 0 keeps all of them. If
another program moves the current file away, a new one is created. Only the file's owner can read it.

A write succeeds as a whole or not at all: what a full disk has cut off is truncated, so that it can be written again. Writes are
not flushed to the disk: what the operating system has not written when the machine loses power is lost.
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
from probate.core.logs import facts

STDOUT = "-"
_TIME_FORMAT = "%Y-%m-%dT%H-%M-%S.%f"
MEGABYTE = 1024 * 1024

log = logging.getLogger(__name__)


class LogSink(Protocol):
    """Where the log's lines go. Used by one thread."""

    def write(self, lines: bytes) -> None:
        """Appends these lines, all of them or (with an `OSError`) none."""
        ...

    def close(self) -> None:
        """Closes the sink: no more lines follow."""
        ...


class RotationLimits(NamedTuple):
    """The size at which a file is rotated in bytes, how many rotated files are kept, and for how many days."""

    size: int = 100 * MEGABYTE
    backups: int = 10
    days: int = 0


class RotatingFile:
    """The current file and its rotated predecessors. A method that raises `OSError` has written nothing and may be called again."""

    def __init__(self, path: Path, limits: RotationLimits, clock: Clock) -> None:
        self._path = path
        self._limits = limits
        self._clock = clock
        self._file = -1
        self._identity = (0, 0)
        self._size = 0
        self._is_too_large = False
        self._open()
        for _, rotated in self._rotated_files():
            private_files.restrict(rotated)

    def write(self, lines: bytes) -> None:
        if self._file < 0 or not self._is_open_file_in_place():
            self._open()
        if self._size and self._size + len(lines) > self._limits.size:
            self._rotate()
        size_before = self._size
        try:
            _write_all(self._file, lines)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size_before)
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
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            os.close(file)
            raise OSError(f"{self._path} is not a regular file")
        private_files.restrict(self._path)
        self._file, self._identity, self._size = file, (status.st_dev, status.st_ino), status.st_size

    def _is_open_file_in_place(self) -> bool:
        try:
            status = self._path.stat()
        except OSError:
            return False
        self._size = status.st_size
        return (status.st_dev, status.st_ino) == self._identity

    def _rotate(self) -> None:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        target = self._rotated_path(now)
        while target.exists():
            now += timedelta(milliseconds=1)
            target = self._rotated_path(now)
        try:
            self._path.rename(target)
        except OSError as error:  # a file that is too large is better than lost events
            if not self._is_too_large:
                log.warning("cannot rotate full audit log, appending to it", extra=facts(path=str(self._path), error=str(error)))
            self._is_too_large = True
            return
        self._is_too_large = False
        self._open()
        with contextlib.suppress(OSError):  # the next rotation tries again
            self._delete_old()

    def _rotated_path(self, when: datetime) -> Path:
        return self._path.with_name(f"{self._path.stem}-{when.strftime(_TIME_FORMAT)[:-3]}{self._path.suffix}")

    def _delete_old(self) -> None:
        files = sorted(self._rotated_files(), reverse=True)
        oldest = datetime.fromtimestamp(self._clock.now(), UTC) - timedelta(days=self._limits.days)
        for number, (when, path) in enumerate(files):
            is_excess = 0 < self._limits.backups <= number
            if is_excess or (self._limits.days > 0 and when < oldest):
                path.unlink(missing_ok=True)

    def _rotated_files(self) -> list[tuple[datetime, Path]]:
        pattern = re.compile(
            rf"{re.escape(self._path.stem)}-(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{3}}){re.escape(self._path.suffix)}"
        )
        matches = [(path, pattern.fullmatch(path.name)) for path in self._path.parent.iterdir()]
        return [
            (datetime.strptime(match[1], _TIME_FORMAT).replace(tzinfo=UTC), path) for path, match in matches if match is not None
        ]


class Stdout:
    """The process's standard output."""

    def __init__(self, file: int = 1) -> None:
        self._file = file

    def write(self, lines: bytes) -> None:
        _write_all(self._file, lines)

    def close(self) -> None:
        """Does nothing: standard output belongs to the process."""


def _write_all(file: int, lines: bytes) -> None:
    remaining = memoryview(lines)
    while remaining:
        remaining = remaining[os.write(file, remaining) :]


def open_sink(path: str, limits: RotationLimits, clock: Clock) -> LogSink:
    """Returns the file at this path, or standard output for "-"."""
    return Stdout() if path == STDOUT else RotatingFile(Path(path), limits, clock)
