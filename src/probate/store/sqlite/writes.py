"""Applies one transaction inside an open SQLite transaction: evaluates the guards, then makes the whole change or none of it.

Synchronous, and without policy: `group_commit` decides when and at which revision a transaction is applied, and makes it durable.
All statements share one cursor, which avoids creating one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import apsw
import msgspec

from probate.store import checksums, keys
from probate.store.contract import NO_REVISION, Absent, FailedGuards, Guard, Record, Revision, Txn, Unchanged
from probate.store.sqlite.integrity import row_checksums

_LIVE = "SELECT rev FROM live WHERE key = ?"
_ENTRY = "SELECT rev FROM entry WHERE key = ?"
_ANY_LIVE = "SELECT 1 FROM live WHERE key >= ? AND key < ? LIMIT 1"
_ANY_ENTRY = "SELECT 1 FROM entry WHERE key >= ? AND key < ? LIMIT 1"
_VALUE = "SELECT key, value, rev, crc FROM log WHERE rev = ?"
_LOG = "INSERT INTO log VALUES (?, ?, ?, ?, ?)"
_CREATE = "INSERT INTO live VALUES (?, ?) ON CONFLICT DO NOTHING"
_UPDATE = "UPDATE live SET rev = ? WHERE key = ? AND rev = ?"
_DELETE = "DELETE FROM live WHERE key = ? AND rev = ?"
_GONE = "INSERT INTO gone VALUES (?, ?)"
_ADD_ENTRY = "INSERT INTO entry VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET rev = excluded.rev"
_REMOVE_ENTRY = "DELETE FROM entry WHERE key = ?"


class Change(msgspec.Struct, frozen=True, gc=False):
    """The effect of a transaction on its object. `replaced` is the revision of the previous version, if there was one."""

    revision: Revision
    key: str
    value: bytes | None
    replaced: Revision | None
    previous: bytes | None = None  # the previous value, if the key is watched


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """Runs the block in a SQLite transaction: commits at the end, rolls back after an error."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


GuardCache: TypeAlias = dict[str, Revision | None]
"""Revisions of keys that guards looked up within this SQLite transaction. Every write of a key must remove it."""


def apply(
    db: apsw.Cursor, txn: Txn, revision: Revision, *, is_watched: Callable[[str], bool], cache: GuardCache
) -> Change | FailedGuards:
    """Applies the transaction at this revision if every guard holds; otherwise returns the guards that failed."""
    failed = tuple([guard for guard in txn.guards if not guard_holds(db, guard, cache)]) if txn.guards else ()
    if failed or not _replace(db, txn, revision):
        return FailedGuards(failed if _is_as_expected(db, txn) else (txn.own_guard(), *failed))
    replaced = txn.expected_revision or None
    value = txn.value
    db.execute(_LOG, (revision, txn.key, replaced, value, None if value is None else checksums.compute(txn.key, value, revision)))
    if value is None:
        db.execute(_GONE, (txn.key, revision))
    if cache:
        for key in (txn.key, *txn.add_entries, *txn.remove_entries):
            cache.pop(key, None)
    for entry in txn.add_entries:
        db.execute(_ADD_ENTRY, (entry, revision))
    for entry in txn.remove_entries:
        db.execute(_REMOVE_ENTRY, (entry,))
    previous = _value(db, replaced) if replaced is not None and is_watched(txn.key) else None
    return Change(revision, txn.key, value, replaced, previous)


def _value(db: apsw.Cursor, revision: Revision) -> bytes | None:
    """Returns the value written at this revision; None if it is damaged."""
    row = db.execute(_VALUE, (revision,)).get
    record = None if row is None else row_checksums.verify_row(row)
    return record.value if type(record) is Record else None


def _replace(db: apsw.Cursor, txn: Txn, revision: Revision) -> bool:
    """Makes the new version current if the current one is as expected, by one statement. Returns whether it did."""
    if txn.expected_revision == NO_REVISION:
        db.execute(_CREATE, (txn.key, revision))
    elif txn.value is not None:
        db.execute(_UPDATE, (revision, txn.key, txn.expected_revision))
    else:
        db.execute(_DELETE, (txn.key, txn.expected_revision))
    return db.connection.changes() == 1


def _is_as_expected(db: apsw.Cursor, txn: Txn) -> bool:
    return (_revision_of(db, txn.key) or NO_REVISION) == txn.expected_revision


def guard_holds(db: apsw.Cursor, guard: Guard, cache: GuardCache) -> bool:
    """Returns whether the guard holds now."""
    if isinstance(guard, Unchanged):  # cached, because most transactions guard the same namespace or owner as the previous ones
        if guard.key not in cache:
            cache[guard.key] = _revision_of(db, guard.key)
        return cache[guard.key] == guard.revision
    if isinstance(guard, Absent):
        return _revision_of(db, guard.key) is None
    statement = _ANY_LIVE if keys.is_object(guard.prefix) else _ANY_ENTRY
    return db.execute(statement, (guard.prefix, keys.range_end(guard.prefix))).get is None


def _revision_of(db: apsw.Cursor, key: str) -> Revision | None:
    revision: Revision | None = db.execute(_LIVE if keys.is_object(key) else _ENTRY, (key,)).get
    return revision
