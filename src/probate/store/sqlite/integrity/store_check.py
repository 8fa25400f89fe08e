"""Checks a whole store file for damage. Does not change the file, not even one of an older version.

If a server has the file open, the check reads it like any other SQLite reader and does not affect the server. Otherwise the check
prevents a server from starting on the file meanwhile. A file without a write-ahead log is opened as immutable, so that SQLite
creates no files beside it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from probate.core import errors
from probate.store import checksums, damaged_objects
from probate.store.check_report import CheckReport
from probate.store.contract import DamagedRecord, Record, Revision
from probate.store.sqlite import schema
from probate.store.sqlite.integrity import row_checksums

FIRST_WITH_CHECKSUMS = 3
_CURRENT = "SELECT live.key, log.value, live.rev, {} FROM live LEFT JOIN log ON log.rev = live.rev ORDER BY live.key"
_HISTORY = "SELECT key, value, rev, {} FROM log WHERE value IS NOT NULL AND rev NOT IN (SELECT rev FROM live)"


def check_file(path: Path) -> CheckReport:
    """Returns the report of a store file. Raises `CannotOpen` if it is not a store or cannot be read at all."""
    if not path.is_file():
        raise errors.CannotOpen(f"{path} does not exist or is not a file. Name the store's file")
    schema.check_is_sqlite(path)
    with _shared_lock(path) as holder:
        try:
            db = _open(path, is_in_use=holder is not None)
            schema.check_is_probate_store(db, path)
            report = _report(db)
            db.close()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise errors.CannotOpen(f"{path} cannot be read: {error}. Restore a copy") from error
    return report if holder is None else report._replace(notes=(*report.notes, f"process {holder} has the store open"))


@contextmanager
def _shared_lock(path: Path) -> Iterator[str | None]:
    """Prevents servers from starting on the file. Yields the id of the process that already has it open, if any."""
    try:
        file = os.open(path.with_name(path.name + "-lock"), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield None
    except BlockingIOError:
        yield os.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(file)


def _open(path: Path, *, is_in_use: bool) -> apsw.Connection:
    has_log = path.with_name(path.name + "-wal").exists()
    options = "mode=ro" if is_in_use or has_log else "immutable=1"
    db = apsw.Connection(f"file:{quote(str(path.resolve()))}?{options}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.set_busy_timeout(5_000)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    return db


def _report(db: apsw.Connection) -> CheckReport:
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    version = db.pragma("user_version")
    has_checksums = version >= FIRST_WITH_CHECKSUMS
    objects, damaged = _check_rows(db, _CURRENT, has_checksums=has_checksums)
    history, damaged_history = _check_rows(db, _HISTORY, has_checksums=has_checksums)
    note = f"store version {version} has no checksums: values were only checked to be JSON. Serving the store upgrades it"
    return CheckReport(
        objects,
        history,
        damaged,
        damaged_history,
        problems=() if problems == ["ok"] else tuple(problems),
        notes=() if has_checksums else (note,),
    )


def _check_rows(db: apsw.Connection, statement: str, *, has_checksums: bool) -> tuple[int, tuple[DamagedRecord, ...]]:
    """Returns the number of rows, and the damaged ones. Reads the values one by one: a store may be larger than memory."""
    count, damaged = 0, []
    for key, value, revision, checksum in db.execute(statement.format("log.crc" if has_checksums else "NULL")):
        count += 1
        record = row_checksums.verify_row((key, value, revision, checksum)) if has_checksums else _verify_json(key, value, revision)
        if isinstance(record, DamagedRecord):
            damaged.append(record)
    return count, tuple(damaged)


def _verify_json(key: str, value: object, revision: Revision) -> Record | DamagedRecord:
    if not isinstance(value, bytes):
        return DamagedRecord(key, revision, damaged_objects.MISSING)
    return Record(key, value, revision) if checksums.is_json(value) else DamagedRecord(key, revision, damaged_objects.NOT_JSON)
