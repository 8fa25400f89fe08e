"""The tables of a store file, and what must be true of a file before it is used.

    log    every change, by revision: the object's value after it with its checksum, and the revision of the version it replaced
    live   which version of each object is the current one
    gone   where deleted objects ended, so that the past can be read; swept with the history
    entry  the index keys
    times  which revision had been reached when
    meta   how far history has been compacted, and how far that has been carried out

A value is written once, into `log`, and found through `live`: an update costs one appended row and one changed number.

    create x "1"   log(2, x, prev -, "1")                       live(x, 2)
    update x "2"   log(3, x, prev 2, "2")                       live(x, 3)
    delete x       log(4, x, prev 3, NULL)    gone(x, 4)        live is empty
    create x "9"   log(5, x, prev -, "9")                       live(x, 5)
    x at 2         begins at where a life of x ended after 2: gone(x, 4) -> 3 -> 2, found: "1"
    compact to 4   log(2), log(3), log(4) and gone(x, 4) go: only what a read at 4 or later can reach stays
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
"""Of a new file. A write all over a large store makes a page new for each table, however little it changes there: half a page is
half of that. An old file keeps the size that it has."""
_WRITER_CACHE_KIB = 16 * 1024
"""Enough for a group of the largest size all over the store, with an index entry each. More is slower: where pages were split,
SQLite's commit looks at each page in the cache, to forget those past the end of the file (until that is past 1 GiB)."""
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
    """A connection that may write: a new file gets its tables, an old one is checked. `CannotOpen` says what is wrong.

    `check` is called before anything is changed, and may raise too.
    """
    try:
        db = apsw.Connection(str(path), vfs=vfs)
        db.set_busy_timeout(5_000)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # whatever is refused is left as it is
        check_belongs_to_us(db, path)
        _check_is_whole(db, path)
        check(db)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        if db.pragma("journal_mode", "wal") != "wal":
            raise errors.CannotOpen(f"{path} lies on a file system that cannot share memory. Name a file on a local disk")
        db.execute("PRAGMA synchronous = FULL")  # every commit is on disk before it is acknowledged
        db.execute("PRAGMA fullfsync = 1")  # on macOS a plain fsync does not reach the disk
        db.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
        keep_plans(db)
        db.execute("PRAGMA wal_autocheckpoint = 0")  # `checkpoints` does it, beside the commits
        prepare(db)
        db.set_busy_timeout(0)  # from here on `groups` says who waits, and where
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise errors.CannotOpen(_damaged(path, str(error))) from error
    except apsw.Error as error:
        raise errors.CannotOpen(f"{path} cannot be opened: {error}. Is the folder writable, and is there room?") from error
    return db


def open_reader(path: Path, vfs: str | None = None) -> apsw.Connection:
    """A connection that only reads, and never waits for a writer."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    db.set_busy_timeout(5_000)
    db.execute("PRAGMA query_only = 1")
    db.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
    keep_plans(db)
    return db


def open_beside(path: Path, vfs: str | None = None) -> apsw.Connection:
    """A connection for checkpoints, as careful about the disk as the one that writes."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    db.set_busy_timeout(5_000)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA checkpoint_fullfsync = 1")
    return db


def keep_plans(db: apsw.Connection) -> None:
    """Plan each statement once. SQLite would do it again for each new value, which takes longer than what is planned."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def prepare(db: apsw.Connection) -> None:
    """Make the tables where there are none yet; bring those of an older version up to date (`upgrade`)."""
    version = db.pragma("user_version")
    if version == 0:
        db.execute(f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT")
    elif version < VERSION:
        from probate.store.sqlite import upgrade  # noqa: PLC0415 hardly any start needs it

        upgrade.upgrade(db, version, VERSION)


def check_place(path: Path) -> None:
    """`CannotOpen` unless a store can be, or already is, at this path. Changes nothing."""
    if not path.parent.is_dir():
        raise errors.CannotOpen(f"{path} cannot be made: there is no folder {path.parent}. Make it, or name another file")
    if path.is_dir():
        raise errors.CannotOpen(f"{path} is a folder. Name a file in it, such as {path / 'probate.db'}")
    if path.name == ":memory:":
        raise errors.CannotOpen("sqlite: is for files. For a store in memory, give memory:")
    if path.exists() and path.stat().st_nlink > 1:
        raise errors.CannotOpen(f"{path} is one of several names of a file, so others cannot be kept out of it. Name another file")


def check_is_a_database(path: Path) -> None:
    """`CannotOpen` if the file holds something else.

    Only for who holds the file's `ProcessLock`: looking into a file and closing it drops the locks that SQLite holds on it.
    """
    for log in (path.with_name(path.name + "-journal"), path.with_name(path.name + "-wal")):
        if log.exists() and log.stat().st_size:
            return  # if the power failed while SQLite wrote the first page it may be torn, and SQLite has a whole one in here
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise errors.CannotOpen(f"{path} is not a Probate store (and no SQLite database at all). Name another file")


def check_belongs_to_us(db: apsw.Connection, path: Path) -> None:
    """`CannotOpen` if another program made the file, or a newer Probate."""
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
