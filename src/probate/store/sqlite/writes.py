"""Carries out one transaction inside an open SQLite transaction: the guards first, then the change or nothing.

Synchronous and without a decision of its own: `groups` says when, on which revision, and makes it durable. All statements share
one cursor, which spares making one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import apsw
import msgspec

from probate.store import checksums, keys
from probate.store.contract import NOTHING, Absent, Guard, Record, Refused, Revision, Txn, Unchanged
from probate.store.sqlite import row_checksums

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
_ENTER = "INSERT INTO entry VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET rev = excluded.rev"
_LEAVE = "DELETE FROM entry WHERE key = ?"


class Change(msgspec.Struct, frozen=True, gc=False):
    """What a transaction did to its object. `replaced` is the revision of the version before, if there was one."""

    revision: Revision
    key: str
    value: bytes | None
    replaced: Revision | None
    previous: bytes | None = None  # the version before, if somebody will be shown it


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """All or nothing: committed at the end, rolled back after an error."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


Known: TypeAlias = dict[str, Revision | None]
"""Revisions of keys that were looked up for guards in this transaction of SQLite. Whoever writes a key takes it out."""


def apply(db: apsw.Cursor, txn: Txn, revision: Revision, is_watched: Callable[[str], bool], known: Known) -> Change | Refused:
    """Make the change at this revision if every guard holds."""
    failed = tuple([guard for guard in txn.guards if not holds(db, guard, known)]) if txn.guards else ()
    if failed or not _replace(db, txn, revision):
        return Refused(failed if _is_as_expected(db, txn) else (txn.own_guard(), *failed))
    replaced = txn.expects or None
    value = txn.value
    db.execute(_LOG, (revision, txn.key, replaced, value, None if value is None else checksums.of(txn.key, value, revision)))
    if value is None:
        db.execute(_GONE, (txn.key, revision))
    if known:
        for key in (txn.key, *txn.enter, *txn.leave):
            known.pop(key, None)
    for entry in txn.enter:
        db.execute(_ENTER, (entry, revision))
    for entry in txn.leave:
        db.execute(_LEAVE, (entry,))
    previous = _value(db, replaced) if replaced is not None and is_watched(txn.key) else None
    return Change(revision, txn.key, value, replaced, previous)


def _value(db: apsw.Cursor, revision: Revision) -> bytes | None:
    """What was written at this revision; None if it is damaged."""
    row = db.execute(_VALUE, (revision,)).get
    found = None if row is None else row_checksums.found(*row)
    return found.value if type(found) is Record else None


def _replace(db: apsw.Cursor, txn: Txn, revision: Revision) -> bool:
    """Let the new version be the current one, if the current one is as expected: asked and done by one statement."""
    if txn.expects == NOTHING:
        db.execute(_CREATE, (txn.key, revision))
    elif txn.value is not None:
        db.execute(_UPDATE, (revision, txn.key, txn.expects))
    else:
        db.execute(_DELETE, (txn.key, txn.expects))
    return db.connection.changes() == 1


def _is_as_expected(db: apsw.Cursor, txn: Txn) -> bool:
    return (_revision_of(db, txn.key) or NOTHING) == txn.expects


def holds(db: apsw.Cursor, guard: Guard, known: Known) -> bool:
    """Whether it does, now."""
    if isinstance(guard, Unchanged):  # of the same namespace or owner, most often, as those before
        if guard.key not in known:
            known[guard.key] = _revision_of(db, guard.key)
        return known[guard.key] == guard.revision
    if isinstance(guard, Absent):
        return _revision_of(db, guard.key) is None
    statement = _ANY_LIVE if keys.is_object(guard.prefix) else _ANY_ENTRY
    return db.execute(statement, (guard.prefix, keys.end_of(guard.prefix))).get is None


def _revision_of(db: apsw.Cursor, key: str) -> Revision | None:
    found: Revision | None = db.execute(_LIVE if keys.is_object(key) else _ENTRY, (key,)).get
    return found
