"""Reads all of a store's file and says what is damaged. The file stays as it is, also one of an older version.

Beside a server the file is read through SQLite's log like by any reader, and the server does not notice. Where no server runs, none
can be started meanwhile. A file without a log is opened as one that nobody changes, so that SQLite makes no files beside it.
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
from probate.store import checksums, damage
from probate.store.check_report import Report
from probate.store.contract import Damaged, Record, Revision
from probate.store.sqlite import row_checksums, schema

FIRST_WITH_CHECKSUMS = 3
_CURRENT = "SELECT live.key, log.value, live.rev, {} FROM live LEFT JOIN log ON log.rev = live.rev ORDER BY live.key"
_HISTORY = "SELECT key, value, rev, {} FROM log WHERE value IS NOT NULL AND rev NOT IN (SELECT rev FROM live)"


def check_file(path: Path) -> Report:
    """What is wrong with the store in this file. `CannotOpen` if it is none, or cannot be read at all."""
    if not path.is_file():
        raise errors.CannotOpen(f"{path} does not exist or is not a file. Name the store's file")
    schema.check_is_a_database(path)
    with _shared_lock(path) as holder:
        try:
            db = _opened(path, is_in_use=holder is not None)
            schema.check_belongs_to_us(db, path)
            report = _report(db)
            db.close()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise errors.CannotOpen(f"{path} cannot be read: {error}. Restore a copy") from error
    return report if holder is None else report._replace(notes=(*report.notes, f"process {holder} has the store open"))


@contextmanager
def _shared_lock(path: Path) -> Iterator[str | None]:
    """Keeps servers from starting on the file. Yields the process that has it open, if one does: that one goes on."""
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


def _opened(path: Path, *, is_in_use: bool) -> apsw.Connection:
    has_log = path.with_name(path.name + "-wal").exists()
    options = "mode=ro" if is_in_use or has_log else "immutable=1"
    db = apsw.Connection(f"file:{quote(str(path.resolve()))}?{options}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.set_busy_timeout(5_000)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    return db


def _report(db: apsw.Connection) -> Report:
    findings = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    version = db.pragma("user_version")
    has_checksums = version >= FIRST_WITH_CHECKSUMS
    objects, damaged = _looked_at(db, _CURRENT, has_checksums=has_checksums)
    history, damaged_history = _looked_at(db, _HISTORY, has_checksums=has_checksums)
    note = f"store version {version} has no checksums: values were only checked to be JSON. Serving the store upgrades it"
    return Report(
        objects,
        history,
        damaged,
        damaged_history,
        problems=() if findings == ["ok"] else tuple(findings),
        notes=() if has_checksums else (note,),
    )


def _looked_at(db: apsw.Connection, statement: str, *, has_checksums: bool) -> tuple[int, tuple[Damaged, ...]]:
    """How many rows there are, and the damaged ones. Values are looked at one by one: a store may be larger than memory."""
    count, damaged = 0, []
    for key, value, revision, checksum in db.execute(statement.format("log.crc" if has_checksums else "NULL")):
        count += 1
        found = row_checksums.found(key, value, revision, checksum) if has_checksums else _old(key, value, revision)
        if isinstance(found, Damaged):
            damaged.append(found)
    return count, tuple(damaged)


def _old(key: str, value: object, revision: Revision) -> Record | Damaged:
    if not isinstance(value, bytes):
        return Damaged(key, revision, damage.MISSING)
    return Record(key, value, revision) if checksums.is_json(value) else Damaged(key, revision, damage.NOT_JSON)
