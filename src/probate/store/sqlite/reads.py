"""Reads the current state from the tables. The caller ensures that one call reads from one snapshot (`snapshot_reader`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import apsw
import orjson

from probate.store import keys
from probate.store.contract import DamagedRecord, Page, ReadResult, Record, Revision
from probate.store.sqlite.integrity import row_checksums
from probate.store.sqlite.integrity.row_checksums import VerifiedRevisions

_OBJECT = "SELECT live.key, log.value, live.rev, log.crc FROM live LEFT JOIN log ON log.rev = live.rev WHERE live.key = ?"
"""LEFT JOIN, because a version missing from the log is damage: the object must not appear to be absent."""
_ENTRY = "SELECT key, x'', rev FROM entry WHERE key = ?"
_OBJECTS = (
    "SELECT live.key, log.value, live.rev{} FROM live LEFT JOIN log ON log.rev = live.rev "
    "WHERE live.key >= ? AND live.key < ? ORDER BY live.key LIMIT ?"
)
_VERIFIED_OBJECTS, _OBJECTS = _OBJECTS.format(""), _OBJECTS.format(", log.crc")
_MANY_OBJECTS = (
    "SELECT live.key, log.value, live.rev, log.crc FROM json_each(?) AS requested JOIN live ON live.key = requested.value "
    "LEFT JOIN log ON log.rev = live.rev"
)
_NONEMPTY_OBJECTS = (
    "SELECT requested.value FROM json_each(?) AS requested WHERE requested.value = "
    "(SELECT substr(key, 1, length(requested.value)) FROM live WHERE key >= requested.value ORDER BY key LIMIT 1)"
)
"""A range is not empty if the first key that does not sort before its prefix begins with it."""
_NONEMPTY_ENTRIES = (
    "SELECT requested.value FROM json_each(?) AS requested WHERE EXISTS "
    "(SELECT 1 FROM entry WHERE key >= requested.value AND key < substr(requested.value, 1, length(requested.value) - 1) || '0')"
)
"""The same a little faster: prefixes of index entries always end in '/'."""
_ENTRIES = "SELECT key, x'', rev FROM entry WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
_COUNT_OBJECTS = "SELECT count(*) FROM live WHERE key >= ? AND key < ?"
_COUNT_ENTRIES = "SELECT count(*) FROM entry WHERE key >= ? AND key < ?"
_FIRST_OBJECT = "SELECT key FROM live WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
_FIRST_ENTRY = "SELECT key FROM entry WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
_REVISION_AT = "SELECT max(rev) FROM times WHERE time <= ?"
_REVISION = "SELECT coalesce(max(rev), 1) FROM log"  # sweeping never removes the newest row of the log


class ScanRange(NamedTuple):
    """The first `limit` keys that begin with `prefix` and sort after `after`."""

    prefix: str
    after: str
    limit: int


MIN_BULK_READ = 8
"""From this many keys on, one statement for all is faster than one for each."""

Queryable: TypeAlias = apsw.Connection | apsw.Cursor
"""Reusing a cursor avoids creating one for each statement; a connection can run a statement while another one is open."""


def revision(db: Queryable) -> Revision:
    """Returns the revision of the newest transaction."""
    newest: Revision = db.execute(_REVISION).get
    return newest


def record(db: Queryable, key: str) -> ReadResult:
    """Returns the current version of a key."""
    is_object = keys.is_object(key)
    row = db.execute(
        _OBJECT if is_object else _ENTRY, (key,)
    ).get  # reads to the end: a cursor left half-read would keep its snapshot open
    if row is None:
        return None
    return row_checksums.verify_row(row) if is_object else Record(*row)


def records(db: Queryable, requested_keys: Sequence[str]) -> list[ReadResult]:
    """Returns the current versions of several keys, in the given order."""
    if len(requested_keys) < MIN_BULK_READ or not all(map(keys.is_object, requested_keys)):
        return [record(db, key) for key in requested_keys]
    intact, damaged = row_checksums.verify_rows(db.execute(_MANY_OBJECTS, (orjson.dumps(requested_keys).decode(),)).fetchall())
    by_key: dict[str, Record | DamagedRecord] = {record.key: record for record in intact}
    by_key.update({record.key: record for record in damaged})
    return [by_key.get(key) for key in requested_keys]


def page(db: Queryable, range_: ScanRange, now: Revision, *, verified: VerifiedRevisions) -> Page:
    """Returns the first records of a range as of the current revision, `now`."""
    is_object = keys.is_object(range_.prefix)
    rows, has_more = _rows(db, _VERIFIED_OBJECTS if is_object else _ENTRIES, range_)
    if not is_object or verified.contains_all(rows):
        return Page([Record(*row) for row in rows], now, has_more)
    rows, has_more = _rows(db, _OBJECTS, range_)
    intact, damaged = row_checksums.verify_rows(rows)
    verified.add(intact, damaged)
    return Page(intact, now, has_more, damaged)


def _rows(db: Queryable, statement: str, range_: ScanRange) -> tuple[list[Any], bool]:
    """Returns the rows of the range, and whether more follow."""
    arguments = (keys.scan_start(range_.prefix, range_.after), keys.range_end(range_.prefix), range_.limit + 1)
    rows: list[Any] = db.execute(statement, arguments).fetchall()
    has_more = len(rows) > range_.limit
    if has_more:
        del rows[range_.limit :]
    return rows, has_more


def pages(db: Queryable, ranges: Sequence[ScanRange], now: Revision, *, verified: VerifiedRevisions) -> list[Page]:
    """Returns the current first records of several ranges."""
    return [page(db, range_, now, verified=verified) for range_ in ranges]


def nonempty_ranges(db: Queryable, prefixes: Sequence[str]) -> set[str]:
    """Returns the prefixes under which at least one key exists now, using one statement for each family of keys."""
    objects = [prefix for prefix in prefixes if prefix.startswith(keys.OBJECTS)]
    nonempty = {row[0] for row in db.execute(_NONEMPTY_OBJECTS, (orjson.dumps(objects).decode(),))} if objects else set()
    if len(objects) == len(prefixes):
        return nonempty
    entries = prefixes if not objects else [prefix for prefix in prefixes if not keys.is_object(prefix)]
    nonempty.update([row[0] for row in db.execute(_NONEMPTY_ENTRIES, (orjson.dumps(entries).decode(),))])
    return nonempty


def count(db: Queryable, prefix: str, after: str) -> int:
    """Returns how many keys of a range exist now."""
    statement = _COUNT_OBJECTS if keys.is_object(prefix) else _COUNT_ENTRIES
    number: int = db.execute(statement, (keys.scan_start(prefix, after), keys.range_end(prefix))).get
    return number


def child_prefixes(db: Queryable, prefix: str) -> list[str]:
    """Returns the prefixes one segment longer than `prefix` under which keys exist now."""
    statement = _FIRST_OBJECT if keys.is_object(prefix) else _FIRST_ENTRY
    children: list[str] = []
    start, end = prefix, keys.range_end(prefix)
    while (key := db.execute(statement, (start, end)).get) is not None:
        child = keys.child_prefix(key, prefix)
        if child is None:
            start = key + "\x00"
        else:
            children.append(child)
            start = keys.range_end(child)
    return children


def revision_at(db: Queryable, time: float) -> Revision | None:
    """Returns the newest revision recorded as reached by this time."""
    newest: Revision | None = db.execute(_REVISION_AT, (time,)).get
    return newest
