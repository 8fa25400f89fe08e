"""The watermark: a small file beside the database that says what the database must hold at least.

    probate.db-watermark   {"store": "<id>", "revision": 1234, "checksum": "5f1d2c3b"}

The id is that of the database, which has it in a table of its own. The revision is the newest one that was acknowledged when the
line was written: after the commit was synced, before anybody was told of it. So a database with another id, or with a lower
revision, or none at all, has lost acknowledged writes, and is refused.

The line is overwritten in place after each group commit, and that is not synced: it costs a few microseconds. A killed process
loses nothing of it. After a power loss the line may be older than the database, never newer, so it never refuses a whole store.
It is synced at the start (after the WAL that was found), after each checkpoint and at the end. The line is shorter than a disk
sector, so it is not torn.
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


class Recorded(NamedTuple):
    """What a watermark says: the id of the store, and the lowest revision that it must have."""

    store: str
    revision: Revision


def path_for(store: Path) -> Path:
    """Where the watermark of the store in this file is."""
    return store.with_name(store.name + "-watermark")


def read(store: Path) -> Recorded | None:
    """The watermark of the store in this file; None if there is none. `CannotOpen` if it is damaged."""
    path = path_for(store)
    try:
        line = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.CannotOpen(f"{path} cannot be read: {error.strerror}. Give this user the right to read it") from error
    found = _LINE.fullmatch(line)
    if found is None or _line(found[1].decode(), int(found[2])) != line:
        raise errors.CannotOpen(f"{path} is damaged, so the server cannot tell whether {store} lost writes. {_all_the_same(store)}")
    return Recorded(found[1].decode(), Revision(int(found[2])))


def check_is_there(store: Path, recorded: Recorded | None) -> None:
    """`CannotOpen` if the database is missing or empty, and something beside it says that there was one."""
    if store.exists() and store.stat().st_size:
        return
    wal = store.with_name(store.name + "-wal")
    what = "is empty" if store.exists() else "is missing"
    if recorded is not None:
        raise errors.CannotOpen(
            f"{store} {what}, but {path_for(store)} says that it held changes up to revision {recorded.revision}. "
            f"Put the database back, or restore a copy. {_all_the_same(store)}"
        )
    if wal.exists() and wal.stat().st_size:
        raise errors.CannotOpen(
            f"{store} {what}, but its write-ahead log {wal} is there and holds changes. "
            "Put the database back. To begin with an empty store, remove that file first"
        )


def check_holds(store: Path, recorded: Recorded | None, db: apsw.Connection) -> None:
    """`CannotOpen` if the database does not hold what the watermark says. Changes nothing."""
    if recorded is None:
        return
    found = found_in(db)
    if recorded.store != found.store:
        raise errors.CannotOpen(
            f"{store} is another store than the one that was here (its id is {found.store or 'missing'}, "
            f"{path_for(store)} has {recorded.store}). Put the right database back. {_all_the_same(store)}"
        )
    if recorded.revision > found.revision:
        raise errors.CannotOpen(
            f"{store} has lost acknowledged writes: it holds changes up to revision {found.revision}, but {path_for(store)} says "
            f"that revision {recorded.revision} was acknowledged. Was {store.name}-wal removed or damaged, or an older copy "
            f"restored? Put the newest files back. {_all_the_same(store)}"
        )


def _all_the_same(store: Path) -> str:
    return f"To go on with what is there, remove {path_for(store)} and start again"


def identify(db: apsw.Connection) -> Recorded:
    """What the watermark of this store has to say now. A store that has no id yet gets one."""
    if not _has_table(db, "identity"):
        db.execute(_TABLE)
    return found_in(db)


def found_in(db: apsw.Connection) -> Recorded:
    """The same for a store that must not be changed. The id is empty if it has none."""
    store: str = db.execute("SELECT store FROM identity").get if _has_table(db, "identity") else ""
    return Recorded(store, reads.revision(db) if _has_table(db, "log") else Revision(0))


def _has_table(db: apsw.Connection, name: str) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)).get)


class Watermark:
    """The file, open for writing. Writes are whole: one call of less than a sector, in place."""

    def __init__(self, store: Path, now: Recorded) -> None:
        self._path = path_for(store)
        self._store = now.store
        _sync_found(store)
        draft = self._path.with_name(self._path.name + ".new")  # its name is there only when its content is
        draft.unlink(missing_ok=True)
        private_files.create(draft)
        self._file = os.open(draft, os.O_RDWR | os.O_CLOEXEC)
        self.note(now.revision)
        self.sync()
        os.replace(draft, self._path)  # noqa: PTH105 by descriptor-level calls, as all the rest
        _sync_folder(self._path.parent)

    def note(self, revision: Revision) -> None:
        """This revision is durable, and is about to be acknowledged."""
        os.pwrite(self._file, _line(self._store, revision), 0)

    def sync(self) -> None:
        """Wait until the line is on disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Make it durable, and let go of it."""
        try:
            self.sync()
        finally:
            os.close(self._file)


def _line(store: str, revision: int) -> bytes:
    text = f'{{"store": "{store}", "revision": {revision}, "checksum": "{zlib.crc32(f"{store} {revision}".encode()):08x}"}}'
    return text.ljust(_SIZE - 1).encode() + b"\n"


def _sync_found(store: Path) -> None:
    """Make durable what was found in the WAL.

    A process that was killed while it synced leaves a commit that the next one reads, but that the disk may not have yet. A power
    loss after this line were synced, and before the WAL were, would leave a watermark that is ahead of its store.
    """
    file = os.open(store.with_name(store.name + "-wal"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    _sync_folder(store.parent)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file durable."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
