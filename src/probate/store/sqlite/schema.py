"""The tables of a store file, and the checks that a file must pass before it is used.

    log    every change, by revision: the object's value after it with its checksum, and the revision of the version it replaced
    live   the revision of the current version of each object
    gone   the revisions of deletes, from which reads of the past find deleted objects; swept with the history
    entry  the index entries
    times  which revision had been reached at which time
    meta   the revision up to which history is compacted, and the revision up to which compacted rows are removed

A value is written once, into `log`, and looked up through `live`: an update costs one appended row and one changed number.

    create x "1"   log(2, x, prev -, "1")                       live(x, 2)
    update x "2"   log(3, x, prev 2, "2")                       live(x, 3)
    delete x       log(4, x, prev 3, NULL)    gone(x, 4)        live is empty
    create x "9"   log(5, x, prev -, "9")                       live(x, 5)
    read x at 2    starts at the end of a lifetime of x after 2: gone(x, 4) -> 3 -> 2, which holds "1"
    compact to 4   removes log(2), log(3), log(4) and gone(x, 4): only rows that a read at 4 or later can reach stay
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from probate.core import errors

VERSION = 3
APPLICATION_ID = 0x50524254  # "PRBT"
_MAGIC = b"SQLite format 3\x00"
_PAGE_BYTES = 2_048
"""Of a new file. A random write to a large store rewrites one page of each table, however little it changes there, so half the
page size halves the cost. An existing file keeps its page size."""
_WRITER_CACHE_KIB = 16 * 1024
"""Enough for a group of maximum size that touches random objects with one index entry each. A larger cache is slower: after page
splits, SQLite's commit visits each cached page to drop those past the end of the file (until the file exceeds 1 GiB)."""
_READER_CACHE_KIB = 16 * 1024

TABLES = """
CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT NOT NULL, prev INTEGER, value BLOB, crc INTEGER);
CREATE TABLE live (key TEXT PRIMARY KEY, rev INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE gone (key TEXT NOT NULL, rev INTEGER NOT NULL, PRIMARY KEY (key, rev)) WITHOUT ROWID;
CREATE TABLE entry (key TEXT PRIMARY KEY, rev INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE times (time REAL PRIMARY KEY, rev INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE meta (compacted INTEGER NOT NULL, swept INTEGER NOT NULL);
INSERT INTO meta VALUES (0, 0);
"""


def open_file(path: Path, vfs: str | None = None, *, check: Callable[[apsw.Connection], None] = lambda _: None) -> apsw.Connection:
    """Opens the writing connection: creates the tables of a new file, checks an existing one. Raises `CannotOpen` with the reason.

    Calls `check`, which may raise too, before changing anything.
    """
    try:
        db = apsw.Connection(str(path), vfs=vfs)
        db.set_busy_timeout(5_000)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a file that fails a check stays unchanged
        check_is_probate_store(db, path)
        _check_is_whole(db, path)
        check(db)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        if db.pragma("journal_mode", "wal") != "wal":
            raise errors.CannotOpen(f"{path} lies on a file system that cannot share memory. Name a file on a local disk")
        db.execute("PRAGMA synchronous = FULL")  # every commit is on disk before it is acknowledged
        db.execute("PRAGMA fullfsync = 1")  # on macOS a plain fsync does not reach the disk
        db.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
        disable_replanning(db)
        db.execute("PRAGMA wal_autocheckpoint = 0")  # `checkpoints` does it, concurrently with commits
        create_or_upgrade(db)
        db.set_busy_timeout(0)  # from here on `group_commit` decides who waits, and where
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise errors.CannotOpen(_damaged(path, str(error))) from error
    except apsw.Error as error:
        raise errors.CannotOpen(f"{path} cannot be opened: {error}. Is the folder writable, and is there free space?") from error
    return db


def open_reader(path: Path, vfs: str | None = None) -> apsw.Connection:
    """Opens a connection that only reads and never waits for a writer."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    db.set_busy_timeout(5_000)
    db.execute("PRAGMA query_only = 1")
    db.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
    disable_replanning(db)
    return db


def open_checkpointer(path: Path, vfs: str | None = None) -> apsw.Connection:
    """Opens a connection for checkpoints, which syncs like the writing connection."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    db.set_busy_timeout(5_000)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA checkpoint_fullfsync = 1")
    return db


def disable_replanning(db: apsw.Connection) -> None:
    """Makes SQLite plan each statement once. Planning again for each new value would take longer than the statement itself."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def create_or_upgrade(db: apsw.Connection) -> None:
    """Creates the tables of a new file; upgrades those of an older version (`upgrade`)."""
    version = db.pragma("user_version")
    if version == 0:
        db.execute(f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT")
    elif version < VERSION:
        from probate.store.sqlite import upgrade  # noqa: PLC0415 rarely needed

        upgrade.upgrade(db, version, VERSION)


def check_path(path: Path) -> None:
    """Raises `CannotOpen` unless a store is or can be created at this path. Changes nothing."""
    if not path.parent.is_dir():
        raise errors.CannotOpen(f"{path} cannot be created: there is no folder {path.parent}. Create it, or name another file")
    if path.is_dir():
        raise errors.CannotOpen(f"{path} is a folder. Name a file in it, such as {path / 'probate.db'}")
    if path.name == ":memory:":
        raise errors.CannotOpen("sqlite: is for files. For a store in memory, give memory:")
    if path.exists() and path.stat().st_nlink > 1:
        raise errors.CannotOpen(
            f"{path} is one of several hard links to a file, so other processes cannot be locked out of it. Name another file"
        )


def check_is_sqlite(path: Path) -> None:
    """Raises `CannotOpen` if the file is not a SQLite database.

    The caller must hold the file's `ProcessLock`: opening and closing the file drops the locks that SQLite holds on it.
    """
    for log in (path.with_name(path.name + "-journal"), path.with_name(path.name + "-wal")):
        if log.exists() and log.stat().st_size:
            return  # after a power loss the first page may be torn, and SQLite restores it from this log
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise errors.CannotOpen(f"{path} is not a Probate store (not even a SQLite database). Name another file")


def check_is_probate_store(db: apsw.Connection, path: Path) -> None:
    """Raises `CannotOpen` if another program or a newer Probate created the file."""
    tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    owner, version = db.pragma("application_id"), db.pragma("user_version")
    if (tables or owner or version) and owner != APPLICATION_ID:
        raise errors.CannotOpen(f"{path} is a SQLite database of another program, not a Probate store. Name another file")
    if version and not tables:
        raise errors.CannotOpen(_damaged(path, "its tables are missing"))
    if version > VERSION:
        raise errors.CannotOpen(
            f"{path} was written by a newer Probate (store version {version}; this one knows up to {VERSION}). "
            "Upgrade Probate to use it"
        )


def _check_is_whole(db: apsw.Connection, path: Path) -> None:
    findings = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)")]
    if findings != ["ok"]:
        raise errors.CannotOpen(_damaged(path, "; ".join(findings)))


def _damaged(path: Path, finding: str) -> str:
    return (
        f"{path} is damaged: {finding}. It was left as it is. Restore a copy, or save what can be read with: "
        f"sqlite3 {path} .recover"
    )
