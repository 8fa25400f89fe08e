"""The watermark: a small file beside the database that states the lowest revision the database must hold.

    probate.db-watermark   {"store": "<id>", "revision": 1234, "checksum": "5f1d2c3b"}

The id is stored in a table of the database. The revision is the newest one that may have been acknowledged: the line is written
after the commit is synced and before any caller is notified. So a database with another id or a lower revision, or a missing
database, has lost acknowledged writes, and the server refuses to start on it.

The line is overwritten in place after each group commit and not synced, which costs a few microseconds. A killed process loses no
part of it. After a power loss the line may be older than the database but never newer, so it never rejects an intact store.
It is synced at the start (after the WAL that was found), after each checkpoint, and on close. The line is shorter than a disk
sector, so it cannot be torn. A running server that finds its files removed puts the watermark back (`Durability.record_loss`).
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import apsw

from probate.core import errors, private_files
from probate.store.contract import Revision
from probate.store.sqlite import reads

_SIZE = 128
_LINE = re.compile(rb'\{"store": "([0-9a-f]{32})", "revision": (\d+), "checksum": "([0-9a-f]{8})"\} *\n')
_TABLE = (
    "BEGIN IMMEDIATE; CREATE TABLE identity (store TEXT NOT NULL); INSERT INTO identity VALUES (lower(hex(randomblob(16)))); COMMIT"
)


class WatermarkState(NamedTuple):
    """The content of a watermark: the id of the store, and the lowest revision that it must hold."""

    store: str
    revision: Revision


def path_for(store: Path) -> Path:
    """Returns the path of the watermark of a store file."""
    return store.with_name(store.name + "-watermark")


def read(store: Path) -> WatermarkState | None:
    """Returns the watermark of a store file; None if there is none. Raises `CannotOpen` if it is damaged."""
    path = path_for(store)
    try:
        line = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.CannotOpen(f"{path} cannot be read: {error.strerror}. Give this user the right to read it") from error
    match = _LINE.fullmatch(line)
    if match is None or _line(match[1].decode(), int(match[2])) != line:
        raise errors.CannotOpen(
            f"{path} is damaged, so the server cannot tell whether {store} lost writes. {_how_to_ignore(store)}"
        )
    return WatermarkState(match[1].decode(), Revision(int(match[2])))


def check_database_exists(store: Path, recorded: WatermarkState | None) -> None:
    """Raises `CannotOpen` if the database is missing or empty although a watermark or WAL beside it shows that there was one."""
    if store.exists() and store.stat().st_size:
        return
    wal = store.with_name(store.name + "-wal")
    problem = "is empty" if store.exists() else "is missing"
    if recorded is not None:
        raise errors.CannotOpen(
            f"{store} {problem}, but {path_for(store)} says that it held changes up to revision {recorded.revision}. "
            f"Put the database back, or restore a copy. {_how_to_ignore(store)}"
        )
    if wal.exists() and wal.stat().st_size:
        raise errors.CannotOpen(
            f"{store} {problem}, but its write-ahead log {wal} is there and holds changes. "
            "Put the database back. To begin with an empty store, remove that file first"
        )


def check_revision(store: Path, recorded: WatermarkState | None, db: apsw.Connection) -> None:
    """Raises `CannotOpen` if the database does not hold what the watermark states. Changes nothing."""
    if recorded is None:
        return
    actual = read_state(db)
    if recorded.store != actual.store:
        raise errors.CannotOpen(
            f"{store} is another store than the one that was here (its id is {actual.store or 'missing'}, "
            f"{path_for(store)} has {recorded.store}). Put the right database back. {_how_to_ignore(store)}"
        )
    if recorded.revision > actual.revision:
        raise errors.CannotOpen(
            f"{store} has lost acknowledged writes: it holds changes up to revision {actual.revision}, but {path_for(store)} says "
            f"that revision {recorded.revision} was acknowledged. Was {store.name}-wal removed or damaged, or an older copy "
            f"restored? Put the newest files back. {_how_to_ignore(store)}"
        )


def _how_to_ignore(store: Path) -> str:
    return f"To continue with this database, remove {path_for(store)} and start again"


def ensure_identity(db: apsw.Connection) -> WatermarkState:
    """Returns the current state of the database, for its watermark. Gives the database an id if it has none."""
    if not _has_table(db, "identity"):
        db.execute(_TABLE)
    return read_state(db)


def read_state(db: apsw.Connection) -> WatermarkState:
    """Returns the current state of the database without changing it. The id is empty if the database has none."""
    store: str = db.execute("SELECT store FROM identity").get if _has_table(db, "identity") else ""
    return WatermarkState(store, reads.revision(db) if _has_table(db, "log") else Revision(0))


def _has_table(db: apsw.Connection, name: str) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)).get)


class Watermark:
    """The watermark file, open for writing. Writes are atomic: each is one call that overwrites less than a sector in place."""

    def __init__(self, store: Path, now: WatermarkState) -> None:
        self._path = path_for(store)
        self._store = now.store
        _sync_wal(store)
        draft = self._path.with_name(self._path.name + ".new")  # so that the final name never leads to an incomplete file
        draft.unlink(missing_ok=True)
        private_files.create(draft)
        self._file = os.open(draft, os.O_RDWR | os.O_CLOEXEC)
        self.write(now.revision)
        self.sync()
        os.replace(draft, self._path)  # noqa: PTH105 a call of `os`, like the others here
        _sync_folder(self._path.parent)

    def write(self, revision: Revision) -> None:
        """Writes a revision that is durable and about to be acknowledged."""
        os.pwrite(self._file, _line(self._store, revision), 0)

    def restore(self) -> None:
        """Creates the file again, with the same content, if it was removed. Leaves a file that another server created alone."""
        if not private_files.create(self._path):
            return
        file = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, os.pread(self._file, _SIZE, 0))
            os.fsync(file)
        finally:
            os.close(file)

    def sync(self) -> None:
        """Waits until the line is on disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Syncs and closes the file."""
        try:
            self.sync()
        finally:
            os.close(self._file)


def _line(store: str, revision: int) -> bytes:
    text = f'{{"store": "{store}", "revision": {revision}, "checksum": "{zlib.crc32(f"{store} {revision}".encode()):08x}"}}'
    return text.ljust(_SIZE - 1).encode() + b"\n"


def _sync_wal(store: Path) -> None:
    """Syncs the WAL that was found at the start.

    A process that was killed during a sync leaves a commit that the next process can read but that may not be on disk yet. If the
    watermark were synced before the WAL, a power loss in between would leave a watermark ahead of its store.
    """
    file = os.open(store.with_name(store.name + "-wal"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    _sync_folder(store.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the name of a new file durable."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
