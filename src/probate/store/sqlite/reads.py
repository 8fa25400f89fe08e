"""Reads the present: straight from the tables. Who calls sees to it that all of a call is read at one moment (`moments`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import apsw
import orjson

from probate.store import keys
from probate.store.contract import Damaged, Found, Page, Record, Revision
from probate.store.sqlite import row_checksums
from probate.store.sqlite.row_checksums import Verified

_OBJECT = "SELECT live.key, log.value, live.rev, log.crc FROM live LEFT JOIN log ON log.rev = live.rev WHERE live.key = ?"
"""(A version that the log does not have is damage: the object must not seem to be absent.)"""
_ENTRY = "SELECT key, x'', rev FROM entry WHERE key = ?"
_OBJECTS = (
    "SELECT live.key, log.value, live.rev{} FROM live LEFT JOIN log ON log.rev = live.rev "
    "WHERE live.key >= ? AND live.key < ? ORDER BY live.key LIMIT ?"
)
_TRUSTED_OBJECTS, _OBJECTS = _OBJECTS.format(""), _OBJECTS.format(", log.crc")
_MANY_OBJECTS = (
    "SELECT live.key, log.value, live.rev, log.crc FROM json_each(?) AS wanted JOIN live ON live.key = wanted.value "
    "LEFT JOIN log ON log.rev = live.rev"
)
_FILLED = (
    "SELECT wanted.value FROM json_each(?) AS wanted WHERE EXISTS "
    "(SELECT 1 FROM {} WHERE key >= wanted.value AND key < substr(wanted.value, 1, length(wanted.value) - 1) || '0')"
)
_FILLED_OBJECTS, _FILLED_ENTRIES = _FILLED.format("live"), _FILLED.format("entry")
_ENTRIES = "SELECT key, x'', rev FROM entry WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
_COUNT_OBJECTS = "SELECT count(*) FROM live WHERE key >= ? AND key < ?"
_COUNT_ENTRIES = "SELECT count(*) FROM entry WHERE key >= ? AND key < ?"
_FIRST_OBJECT = "SELECT key FROM live WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
_FIRST_ENTRY = "SELECT key FROM entry WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
_NOTED = "SELECT max(rev) FROM times WHERE time <= ?"
_REVISION = "SELECT coalesce(max(rev), 1) FROM log"  # the newest row of the log is never swept


class Range(NamedTuple):
    """The first keys that begin with `prefix` and follow `after`."""

    prefix: str
    after: str
    limit: int


FEW = 8
"""So many keys are asked for one by one: one statement for all has its price."""

Executor: TypeAlias = apsw.Connection | apsw.Cursor
"""A cursor spares making one for each statement; a connection can run a statement within another."""


def revision(db: Executor) -> Revision:
    """The revision of the newest transaction."""
    newest: Revision = db.execute(_REVISION).get
    return newest


def record(db: Executor, key: str) -> Found:
    """The key as it is now."""
    is_object = keys.is_object(key)
    row = db.execute(
        _OBJECT if is_object else _ENTRY, (key,)
    ).get  # reads to the end: a cursor left in mid-answer would hold its snapshot
    if row is None:
        return None
    return row_checksums.found(*row) if is_object else Record(*row)


def records(db: Executor, wanted: Sequence[str]) -> list[Found]:
    """Several keys as they are now."""
    if len(wanted) < FEW or not all(map(keys.is_object, wanted)):
        return [record(db, key) for key in wanted]
    intact, damaged = row_checksums.records(db.execute(_MANY_OBJECTS, (orjson.dumps(wanted).decode(),)).fetchall())
    found: dict[str, Record | Damaged] = {one.key: one for one in intact}
    found.update({one.key: one for one in damaged})
    return [found.get(key) for key in wanted]


def page(db: Executor, range_: Range, now: Revision, verified: Verified) -> Page:
    """The first records of a range as it is now, which is revision `now`."""
    is_object = keys.is_object(range_.prefix)
    rows, more = _rows(db, _TRUSTED_OBJECTS if is_object else _ENTRIES, range_)
    if not is_object or verified.trusts(rows):
        return Page([Record(*row) for row in rows], now, more)
    rows, more = _rows(db, _OBJECTS, range_)
    intact, damaged = row_checksums.records(rows)
    verified.note(intact, damaged)
    return Page(intact, now, more, damaged)


def _rows(db: Executor, statement: str, range_: Range) -> tuple[list[Any], bool]:
    """The rows, and whether there are more."""
    given = (keys.start_of(range_.prefix, range_.after), keys.end_of(range_.prefix), range_.limit + 1)
    rows: list[Any] = db.execute(statement, given).fetchall()
    more = len(rows) > range_.limit
    if more:
        del rows[range_.limit :]
    return rows, more


def pages(db: Executor, ranges: Sequence[Range], now: Revision, verified: Verified) -> list[Page]:
    """The first records of several ranges as they are now."""
    return [page(db, range_, now, verified) for range_ in ranges]


def filled(db: Executor, prefixes: Sequence[str]) -> set[str]:
    """Those of the ranges that hold any key now: found in one go."""
    objects = [prefix for prefix in prefixes if prefix.startswith(keys.OBJECTS)]
    found = {row[0] for row in db.execute(_FILLED_OBJECTS, (orjson.dumps(objects).decode(),))} if objects else set()
    if len(objects) == len(prefixes):
        return found
    entries = prefixes if not objects else [prefix for prefix in prefixes if not keys.is_object(prefix)]
    found.update([row[0] for row in db.execute(_FILLED_ENTRIES, (orjson.dumps(entries).decode(),))])
    return found


def count(db: Executor, prefix: str, after: str) -> int:
    """How many keys of a range there are now."""
    statement = _COUNT_OBJECTS if keys.is_object(prefix) else _COUNT_ENTRIES
    found: int = db.execute(statement, (keys.start_of(prefix, after), keys.end_of(prefix))).get
    return found


def folders(db: Executor, prefix: str) -> list[str]:
    """The ranges one segment below this one that hold any key now."""
    statement = _FIRST_OBJECT if keys.is_object(prefix) else _FIRST_ENTRY
    found: list[str] = []
    start, end = prefix, keys.end_of(prefix)
    while (key := db.execute(statement, (start, end)).get) is not None:
        folder = keys.folder_of(key, prefix)
        if folder is None:
            start = key + "\x00"
        else:
            found.append(folder)
            start = keys.end_of(folder)
    return found


def noted(db: Executor, time: float) -> Revision | None:
    """The newest revision that was noted to have been reached by this time."""
    found: Revision | None = db.execute(_NOTED, (time,)).get
    return found
