"""Reads the past: objects as of a revision, and the changes between two revisions.

The log holds each lifetime of an object, from its create to its delete, as a chain of versions, newest first. The chain of an
existing object starts at its row in `live`, the chain of a deleted one at its row in `gone`. To read a key at revision R, start at
the ends of its lifetimes after R and follow each chain to the first version that is not newer than R. At most one lifetime has one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import islice
from typing import Any

import apsw

from probate.store import damaged_objects, keys
from probate.store.contract import DamagedRecord, Event, Page, ReadResult, Record, Revision
from probate.store.sqlite import reads
from probate.store.sqlite.integrity import row_checksums
from probate.store.sqlite.reads import Queryable

_ENDS = (
    "SELECT key, rev FROM live WHERE key >= :start AND key < :end "
    "UNION ALL SELECT key, rev FROM gone WHERE key >= :start AND key < :end AND rev > :at ORDER BY key, rev"
)
_STEP = "SELECT prev FROM log WHERE rev = ?"
_VALUE = "SELECT key, value, rev, crc FROM log WHERE rev = ?"
_DECREASE = (
    "SELECT count(*) FILTER (WHERE typeof(value) = 'null') - count(*) FILTER (WHERE prev IS NULL) FROM log "
    "WHERE rev > ? AND key >= ? AND key < ?"
)
"""Deletes minus creates. `typeof` does not load the value; `IS NULL` may read all of it."""
_CHANGES = (
    "SELECT log.rev, log.key, log.value, log.crc, log.prev, before.value, before.crc "
    "FROM log LEFT JOIN log AS before ON before.rev = log.prev "
    "WHERE log.rev > ? AND log.rev <= ? AND log.key >= ? AND log.key < ? ORDER BY log.rev"
)


def page(db: apsw.Cursor, prefix: str, *, after: str, limit: int, at: Revision) -> Page:
    """Returns the first records of a range of objects as of revision `at`."""
    with closing(_records(db.connection, keys.scan_start(prefix, after), keys.range_end(prefix), at=at)) as records:
        results = list(islice(records, limit + 1))
    intact, damaged = row_checksums.split_damaged(results[:limit])
    return Page(intact, at, len(results) > limit, damaged)


def record(db: apsw.Cursor, key: str, at: Revision) -> ReadResult:
    """Returns one object as of revision `at`."""
    with closing(_records(db.connection, key, key + "\x00", at=at)) as records:
        return next(records, None)


def count(db: apsw.Cursor, prefix: str, *, after: str, at: Revision) -> int:
    """Returns how many objects of a range existed at `at`: those that exist now, plus later deletes, minus later creates."""
    start, end = keys.scan_start(prefix, after), keys.range_end(prefix)
    decrease: int = db.execute(_DECREASE, (at, start, end)).get
    return reads.count(db, prefix, after) + decrease


def _records(db: apsw.Connection, start: str, end: str, *, at: Revision) -> Generator[Record | DamagedRecord, None, None]:
    for key, newest in db.execute(_ENDS, {"start": start, "end": end, "at": at}):
        version = newest
        while version is not None and version > at:
            version = db.execute(_STEP, (version,)).get
        if version is not None:
            yield version_at(db, key, version)


def version_at(db: Queryable, key: str, revision: Revision) -> Record | DamagedRecord:
    """Returns the version of an object that was written at exactly this revision."""
    row = db.execute(_VALUE, (revision,)).get
    if row is None:
        return DamagedRecord(key, revision, damaged_objects.MISSING)
    return row_checksums.verify_row((key, *row[1:]))


def changes(db: apsw.Cursor, prefix: str, *, after: Revision, to: Revision, size: int) -> tuple[list[Event], Revision]:
    """Returns the changes of a range in (after, to], and the revision up to which they are complete.

    Stops earlier once the values exceed `size` bytes, and before a change that is damaged. Raises `Gone` if the first one is.
    """
    events: list[Event] = []
    rows: Iterable[Any] = db.execute(_CHANGES, (after, to, prefix, keys.range_end(prefix)))
    for revision, key, new, checksum, replaced, old, old_checksum in rows:
        value = None if new is None else row_checksums.verify_row((key, new, revision, checksum))
        previous = None if replaced is None else row_checksums.verify_row((key, old, replaced, old_checksum))
        if isinstance(value, DamagedRecord) or isinstance(previous, DamagedRecord):
            if events:
                return events, Revision(revision - 1)
            raise damaged_objects.watch_gap(DamagedRecord(key, revision, damaged_objects.CHECKSUM))
        events.append(Event(revision, key, new, previous))
        size -= len(new or b"") + len(old or b"")
        if size < 0:
            return events, revision
    return events, to
