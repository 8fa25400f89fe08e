"""Reads the past: objects as they were at a revision, and the changes between two.

Each life of an object is a chain of versions in the log, newest first. The chain of a living object begins at `live`, that of
one that was deleted at `gone`. To read a key at revision R, begin at the ends of its lives after R and follow the chain to
the first version that is not newer than R. At most one life has one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import islice
from typing import Any

import apsw

from probate.store import damage, keys
from probate.store.contract import Damaged, Event, Found, Page, Record, Revision
from probate.store.sqlite import reads, row_checksums
from probate.store.sqlite.reads import Executor

_ENDS = (
    "SELECT key, rev FROM live WHERE key >= :start AND key < :end "
    "UNION ALL SELECT key, rev FROM gone WHERE key >= :start AND key < :end AND rev > :at ORDER BY key, rev"
)
_STEP = "SELECT prev FROM log WHERE rev = ?"
_VALUE = "SELECT key, value, rev, crc FROM log WHERE rev = ?"
_SHRUNK = (
    "SELECT count(*) FILTER (WHERE typeof(value) = 'null') - count(*) FILTER (WHERE prev IS NULL) FROM log "
    "WHERE rev > ? AND key >= ? AND key < ?"
)
"""`typeof` leaves the value where it is: `IS NULL` may read all of it."""
_CHANGES = (
    "SELECT log.rev, log.key, log.value, log.crc, log.prev, before.value, before.crc "
    "FROM log LEFT JOIN log AS before ON before.rev = log.prev "
    "WHERE log.rev > ? AND log.rev <= ? AND log.key >= ? AND log.key < ? ORDER BY log.rev"
)


def page(db: apsw.Cursor, prefix: str, after: str, limit: int, at: Revision) -> Page:
    """The first records of a range of objects as it was at `at`."""
    with closing(_records(db.connection, keys.start_of(prefix, after), keys.end_of(prefix), at)) as then:
        found = list(islice(then, limit + 1))
    intact, damaged = row_checksums.split(found[:limit])
    return Page(intact, at, len(found) > limit, damaged)


def record(db: apsw.Cursor, key: str, at: Revision) -> Found:
    """One object as it was at `at`."""
    with closing(_records(db.connection, key, key + "\x00", at)) as then:
        return next(then, None)


def count(db: apsw.Cursor, prefix: str, after: str, at: Revision) -> int:
    """How many objects of a range there were at `at`: those of now, with what was deleted since and without what was created."""
    start, end = keys.start_of(prefix, after), keys.end_of(prefix)
    shrunk: int = db.execute(_SHRUNK, (at, start, end)).get
    return reads.count(db, prefix, after) + shrunk


def _records(db: apsw.Connection, start: str, end: str, at: Revision) -> Generator[Record | Damaged, None, None]:
    for key, newest in db.execute(_ENDS, {"start": start, "end": end, "at": at}):
        version = newest
        while version is not None and version > at:
            version = db.execute(_STEP, (version,)).get
        if version is not None:
            yield of_revision(db, key, version)


def of_revision(db: Executor, key: str, version: Revision) -> Record | Damaged:
    """What was written at this revision, as the object of this key."""
    row = db.execute(_VALUE, (version,)).get
    return Damaged(key, version, damage.MISSING) if row is None else row_checksums.found(key, *row[1:])


def changes(db: apsw.Cursor, prefix: str, *, after: Revision, to: Revision, size: int) -> tuple[list[Event], Revision]:
    """The changes of a range in (after, to], and up to which revision they are complete: fewer if they exceed `size` bytes.

    They end before one that cannot be shown. `Gone` if the first one is damaged.
    """
    events: list[Event] = []
    rows: Iterable[Any] = db.execute(_CHANGES, (after, to, prefix, keys.end_of(prefix)))
    for revision, key, new, checksum, replaced, old, old_checksum in rows:
        value = None if new is None else row_checksums.found(key, new, revision, checksum)
        previous = None if replaced is None else row_checksums.found(key, old, replaced, old_checksum)
        if isinstance(value, Damaged) or isinstance(previous, Damaged):
            if events:
                return events, Revision(revision - 1)
            raise damage.gap_of(Damaged(key, revision, damage.CHECKSUM))
        events.append(Event(revision, key, new, previous))
        size -= len(new or b"") + len(old or b"")
        if size < 0:
            return events, revision
    return events, to
