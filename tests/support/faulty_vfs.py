"""A SQLite VFS on the system's own that records what was written and synced when, and that can fail at any call.

From a recording, `disk_images` makes what a power loss may leave of the files at each sync.
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
"""SQLite syncs the folder with the first sync of such a file, if it has made it."""


class Step(NamedTuple):
    """One thing that was done to a file, or (ACKNOWLEDGE) a revision that somebody was told of."""

    what: str
    file: str = ""
    offset: int = 0
    data: bytes = b""
    revision: int = 0
    to: str = ""  # a new name


class Disk(apsw.VFS):
    """Registered under its own name while it is in use. `fails` says before each call with which error it shall fail, if any."""

    def __init__(self, name: str, *, fails: Callable[[str], Exception | None] = lambda _: None) -> None:
        self.vfs_name = name
        self.steps: list[Step] = []
        self.before: dict[str, bytes] = {}
        self._known: set[str] = set()
        self._fails = fails
        super().__init__(name, "unix")

    def begin(self, folder: Path) -> None:
        """What is in the folder now is on disk."""
        self.before = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(("-shm", "-lock"))}
        self._known = {*self.before}

    def note(self, step: Step) -> None:
        if step.what == RENAME:
            self._known.add(step.to)
        if step.file and step.file not in self._known and step.what != DELETE:
            self._known.add(step.file)
            self.steps.append(Step(CREATE, step.file))
        self.steps.append(step)

    def called(self, name: str) -> None:
        error = self._fails(name)
        if error is not None:
            raise error

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 SQLite's names
        self.called("xOpen")
        return DiskFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.called("xDelete")
        super().xDelete(filename, syncdir)
        self._known.discard(Path(filename).name)
        self.note(Step(DELETE, Path(filename).name))
        if syncdir:
            self.note(Step(SYNC_FOLDER))

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        self.called("xAccess")
        return super().xAccess(pathname, flags)


class DiskFile(apsw.VFSFile):
    """One open file of it."""

    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = Path(name if isinstance(name, str) else name.filename()).name if name is not None else ""
        self._syncs_folder = bool(flags[0] & _SYNCS_FOLDER) and self._name not in disk._known
        super().__init__("unix", name, flags)
        if self._name and self._name not in disk._known:
            disk._known.add(self._name)
            disk.note(Step(CREATE, self._name))

    def _note(self, step: Step) -> None:
        if self._name:
            self._disk.note(step)

    def xRead(self, amount: int, offset: int) -> Any:  # noqa: N802
        self._disk.called("xRead")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.called("xWrite")
        super().xWrite(data, offset)
        self._note(Step(WRITE, self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.called("xTruncate")
        super().xTruncate(newsize)
        self._note(Step(TRUNCATE, self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.called("xSync")
        super().xSync(flags)
        self._note(Step(SYNC, self._name))
        if self._syncs_folder:
            self._syncs_folder = False
            self._disk.note(Step(SYNC_FOLDER))

    def xFileSize(self) -> int:  # noqa: N802
        self._disk.called("xFileSize")
        return super().xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802
        self._disk.called("xLock")
        super().xLock(level)


class _WatchedOs(ModuleType):
    """The module `os`, for the one file that the store writes without SQLite."""

    def __init__(self, disk: Disk) -> None:
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
        self._disk.note(Step(WRITE, self._files[file], offset, data))
        return os.pwrite(file, data, offset)

    def fsync(self, file: int) -> None:
        name = self._files[file]
        self._disk.note(Step(SYNC, name) if name else Step(SYNC_FOLDER))

    def replace(self, path: Path, to: Path) -> None:
        os.replace(path, to)  # noqa: PTH105
        self._disk.note(Step(RENAME, path.name, to=to.name))
        self._files = {file: to.name if name == path.name else name for file, name in self._files.items()}

    def close(self, file: int) -> None:
        self._files.pop(file, None)
        os.close(file)


@contextmanager
def in_use(disk: Disk) -> Iterator[Disk]:
    """What the store writes goes through this disk, until the block ends."""
    vars(watermark)["os"] = _WatchedOs(disk)
    try:
        yield disk
    finally:
        vars(watermark)["os"] = os
        disk.unregister()


class FailAt:
    """Fails the call of this number, counted over all of them; and all later ones if it `persists`."""

    def __init__(self, number: int, error: Callable[[str], Exception], *, persists: bool = False) -> None:
        self.calls = 0
        self.failed = 0
        self.is_over = False  # nothing fails any more
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
