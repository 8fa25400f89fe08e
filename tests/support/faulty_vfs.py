"""A SQLite VFS on top of the system's VFS that records all writes and syncs, and can fail at any call.

From such a recording, `disk_images` builds the files that a power loss may leave at each sync.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import apsw

from probate.store.sqlite.files import watermark

WRITE, TRUNCATE, SYNC, ACKNOWLEDGE = "write", "truncate", "sync", "acknowledge"
CREATE, RENAME, DELETE, SYNC_FOLDER = "create", "rename", "delete", "sync-folder"
_SYNCS_FOLDER = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
"""SQLite syncs the folder at the first sync of such a file, if it created the file."""


class Step(NamedTuple):
    """One operation on a file, or (ACKNOWLEDGE) a revision that was acknowledged to a client."""

    kind: str
    file: str = ""
    offset: int = 0
    data: bytes = b""
    revision: int = 0
    to: str = ""  # a new name


class RecordingDisk(apsw.VFS):
    """The VFS, registered under its own name while in use. `fails` returns the error with which a call shall fail, or None."""

    def __init__(self, name: str, *, fails: Callable[[str], Exception | None] = lambda _: None) -> None:
        self.vfs_name = name
        self.steps: list[Step] = []
        self.before: dict[str, bytes] = {}
        self._known: set[str] = set()
        self._fails = fails
        super().__init__(name, "unix")

    def begin(self, folder: Path) -> None:
        """Starts the recording: what is in the folder now is on disk."""
        self.before = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(("-shm", "-lock"))}
        self._known = {*self.before}

    def record(self, step: Step) -> None:
        if step.kind == RENAME:
            self._known.add(step.to)
        if step.file and step.file not in self._known and step.kind != DELETE:
            self._known.add(step.file)
            self.steps.append(Step(CREATE, step.file))
        self.steps.append(step)

    def before_call(self, name: str) -> None:
        error = self._fails(name)
        if error is not None:
            raise error

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 SQLite's names
        self.before_call("xOpen")
        return DiskFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.before_call("xDelete")
        super().xDelete(filename, syncdir)
        self._known.discard(Path(filename).name)
        self.record(Step(DELETE, Path(filename).name))
        if syncdir:
            self.record(Step(SYNC_FOLDER))

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        self.before_call("xAccess")
        return super().xAccess(pathname, flags)


class DiskFile(apsw.VFSFile):
    """One open file of a `RecordingDisk`."""

    def __init__(self, disk: RecordingDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = Path(name if isinstance(name, str) else name.filename()).name if name is not None else ""
        self._syncs_folder = bool(flags[0] & _SYNCS_FOLDER) and self._name not in disk._known
        super().__init__("unix", name, flags)
        if self._name and self._name not in disk._known:
            disk._known.add(self._name)
            disk.record(Step(CREATE, self._name))

    def _record(self, step: Step) -> None:
        if self._name:
            self._disk.record(step)

    def xRead(self, amount: int, offset: int) -> Any:  # noqa: N802
        self._disk.before_call("xRead")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.before_call("xWrite")
        super().xWrite(data, offset)
        self._record(Step(WRITE, self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.before_call("xTruncate")
        super().xTruncate(newsize)
        self._record(Step(TRUNCATE, self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.before_call("xSync")
        super().xSync(flags)
        self._record(Step(SYNC, self._name))
        if self._syncs_folder:
            self._syncs_folder = False
            self._disk.record(Step(SYNC_FOLDER))

    def xFileSize(self) -> int:  # noqa: N802
        self._disk.before_call("xFileSize")
        return super().xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802
        self._disk.before_call("xLock")
        super().xLock(level)


class _WatchedOs(ModuleType):
    """Stands in for the module `os`, to record the one file that the store writes without SQLite: the watermark."""

    def __init__(self, disk: RecordingDisk) -> None:
        super().__init__("os")
        self._disk = disk
        self._files: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Path, flags: int) -> int:
        file = os.open(path, flags)
        self._files[file] = "" if Path(path).is_dir() else Path(path).name
        return file

    def pwrite(self, file: int, data: bytes, offset: int) -> int:
        self._disk.record(Step(WRITE, self._files[file], offset, data))
        return os.pwrite(file, data, offset)

    def fsync(self, file: int) -> None:
        name = self._files[file]
        self._disk.record(Step(SYNC, name) if name else Step(SYNC_FOLDER))

    def replace(self, path: Path, to: Path) -> None:
        os.replace(path, to)  # noqa: PTH105
        self._disk.record(Step(RENAME, path.name, to=to.name))
        self._files = {file: to.name if name == path.name else name for file, name in self._files.items()}

    def close(self, file: int) -> None:
        self._files.pop(file, None)
        os.close(file)


@contextmanager
def use_disk(disk: RecordingDisk) -> Iterator[RecordingDisk]:
    """Records everything the store writes through this disk, until the block ends."""
    vars(watermark)["os"] = _WatchedOs(disk)
    try:
        yield disk
    finally:
        vars(watermark)["os"] = os
        disk.unregister()


class FailAt:
    """Fails the call of this number, counted over all calls; and all later ones if it `persists`."""

    def __init__(self, number: int, error: Callable[[str], Exception], *, persists: bool = False) -> None:
        self.calls = 0
        self.failed = 0
        self.is_over = False  # set when nothing shall fail any more
        self._number, self._error, self._persists = number, error, persists
        self._lock = threading.Lock()

    def __call__(self, name: str) -> Exception | None:
        with self._lock:
            self.calls += 1
            is_due = self.calls >= self._number if self._persists else self.calls == self._number
            if self.is_over or not is_due:
                return None
            self.failed += 1
        return self._error(name)
