"""Transactions that have nothing to do with each other: what `writes` makes of each, in a few calls of SQLite.

Creates of clients that all write at once are made `ROWS` at a time, on the loop: a statement costs more than the rows it writes.
Deletes are made hundreds at a time, off the loop. Those of a cascade are most often neighbours: all dependents of an owner stand
side by side in its index, and their names, made from the owner's, side by side among the objects. So each table is asked first for
what lies between the first and the last of them. If that is just what is to go, it goes as one range, which takes a fifth of the
time of finding each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import orjson

from probate.store import checksums, keys
from probate.store.contract import EmptyRange, Guard, Revision, Txn, Unchanged
from probate.store.sqlite import writes

ROWS = 16
"""Creates that are made together."""
SMALL_BYTES = 64 * 1024
"""Values of creates that are made together, at most."""
NEIGHBOURS = 32
"""Index entries that are not worth asking whether they stand side by side."""

_CREATE = f"INSERT INTO live VALUES {', '.join(['(?, ?)'] * ROWS)} ON CONFLICT DO NOTHING"
_LOG = f"INSERT INTO log VALUES {', '.join(['(?, ?, NULL, ?, ?)'] * ROWS)}"
_UNDO = "DELETE FROM live WHERE key = ? AND rev = ?"

_FROM_TO = "SELECT group_concat(one, char(10)) FROM (SELECT {} AS one FROM {} WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?)"
_LIVE_FROM_TO, _ENTRIES_FROM_TO = _FROM_TO.format("key || char(9) || rev", "live"), _FROM_TO.format("key", "entry")
_DELETE_FROM_TO = "DELETE FROM live WHERE key BETWEEN ? AND ?"
_LEAVE_FROM_TO = "DELETE FROM entry WHERE key BETWEEN ? AND ?"
_LOG_FROM_TO = (
    "INSERT INTO log SELECT ? + row_number() OVER (ORDER BY key), key, rev, NULL, NULL FROM live WHERE key BETWEEN ? AND ?"
)

_AS_EXPECTED = "SELECT count(*) FROM json_each(?) AS one JOIN live ON live.key = one.value->>0 AND live.rev = one.value->>1"
_DELETE_MANY = "DELETE FROM live WHERE key IN (SELECT value FROM json_each(?))"
_LEAVE_MANY = "DELETE FROM entry WHERE key IN (SELECT value FROM json_each(?))"
_LOG_MANY = "INSERT INTO log SELECT ? + one.key, one.value->>0, one.value->>1, NULL, NULL FROM json_each(?) AS one"
_GONE_SINCE = "INSERT INTO gone SELECT key, rev FROM log WHERE rev >= ?"


def are_separate_creates(txns: Sequence[Txn]) -> bool:
    """Whether they only create, each an object of its own without index entries, under guards that none of them has to do with."""
    own: set[str] = set()
    for txn in txns:
        if txn.expects or txn.enter or txn.leave or txn.value is None or len(txn.value) > SMALL_BYTES:
            return False
        own.add(txn.key)
    guards = {guard for txn in txns for guard in txn.guards}
    return len(own) == len(txns) and all(isinstance(one, Unchanged) and one.key not in own for one in guards)


def create(db: apsw.Cursor, txns: Sequence[Txn], revision: Revision, known: writes.Known) -> bool:
    """Carry out `ROWS` of them. Only for `are_separate_creates`. False, and nothing is done, if anything is in the way of one."""
    guards = {guard for txn in txns for guard in txn.guards}
    if not all(writes.holds(db, guard, known) for guard in guards):
        return False
    numbered = list(enumerate(txns, revision))
    db.execute(_CREATE, [part for number, txn in numbered for part in (txn.key, number)])
    if db.connection.changes() < len(txns):
        db.executemany(_UNDO, [(txn.key, number) for number, txn in numbered])
        return False
    rows = [(number, txn.key, txn.value, checksums.of(txn.key, txn.value or b"", number)) for number, txn in numbered]
    db.execute(_LOG, [part for row in rows for part in row])
    for txn in txns:
        known.pop(txn.key, None)
    return True


def separate_deletes(txns: Sequence[Txn]) -> int:
    """How many of the first only delete, each its own object, under guards that none of them can break: their order is all one.

    (A range of the index that is empty stays so, since who deletes enters nothing.)
    """
    own: set[str] = set()
    guarded: set[str] = set()
    guards: tuple[Guard, ...] = ()
    for number, txn in enumerate(txns):
        if txn.value is not None or txn.key in own or txn.key in guarded:
            return number
        own.add(txn.key)
        if txn.guards is not guards:  # those of one family have the same
            guards = txn.guards
            named = [guard.key for guard in guards if type(guard) is Unchanged and keys.is_object(guard.key)]
            if not own.isdisjoint(named) or (len(named) < len(guards) and not all(map(_is_kept, guards))):
                return number
            guarded.update(named)
    return len(txns)


def _is_kept(guard: Guard) -> bool:
    """Whether what holds under it still holds when other objects were deleted."""
    if isinstance(guard, EmptyRange):
        return not keys.is_object(guard.prefix)
    return isinstance(guard, Unchanged) and keys.is_object(guard.key)


def delete(db: apsw.Cursor, txns: Sequence[Txn], revision: Revision) -> int:
    """Carry out the first of them, one at this revision and the others at those after it. Only for `separate_deletes`.

    Returns how many: those under guards that hold before any is carried out, since one may wait for another. None, and nothing is
    done, if any of these is not as expected. However many they are, it takes a few calls of SQLite, so it can run beside the event
    loop: that has the interpreter meanwhile.
    """
    free = txns[: _free(db, txns)]
    if not free:
        return 0
    wanted = [(txn.key, txn.expects) for txn in free]
    in_order = sorted(wanted)
    if _lie_together(db, in_order):
        first, last = in_order[0][0], in_order[-1][0]
        if in_order == wanted:
            db.execute(_LOG_FROM_TO, (revision - 1, first, last))
        else:
            db.execute(_LOG_MANY, (revision, _json(wanted)))
        db.execute(_DELETE_FROM_TO, (first, last))
    else:
        as_expected = _json(wanted)
        if db.execute(_AS_EXPECTED, (as_expected,)).get != len(free):
            return 0
        db.execute(_LOG_MANY, (revision, as_expected))
        db.execute(_DELETE_MANY, (_json([txn.key for txn in free]),))
    db.execute(_GONE_SINCE, (revision,))
    _leave(db, free)
    return len(free)


def _free(db: apsw.Cursor, txns: Sequence[Txn]) -> int:
    """How many of the first have nothing in their way."""
    known: writes.Known = {}
    guards: tuple[Guard, ...] = ()
    for number, txn in enumerate(txns):
        if txn.guards is not guards:  # those of one family have the same
            guards = txn.guards
            if not all(writes.holds(db, guard, known) for guard in guards):
                return number
    return len(txns)


def _lie_together(db: apsw.Cursor, in_order: list[tuple[str, Revision]]) -> bool:
    """Whether these objects are there, as expected, and no other one is between them. (No key holds what parts them here.)"""
    text = "\n".join([f"{key}\t{revision}" for key, revision in in_order])
    found: str | None = db.execute(_LIVE_FROM_TO, (in_order[0][0], in_order[-1][0], len(in_order))).get
    return found == text


def _leave(db: apsw.Cursor, txns: Sequence[Txn]) -> None:
    """Drop their index entries."""
    ranges: dict[str, list[str]] = {}
    for txn in txns:
        for entry in txn.leave:
            ranges.setdefault(entry.removesuffix(txn.key), []).append(entry)
    scattered: list[str] = []
    for entries in ranges.values():
        if len(entries) < NEIGHBOURS or not _have_left_together(db, sorted(entries)):
            scattered += entries
    if scattered:
        db.execute(_LEAVE_MANY, (_json(scattered),))


def _have_left_together(db: apsw.Cursor, in_order: list[str]) -> bool:
    """Drop them as one range, if they are one."""
    first, last = in_order[0], in_order[-1]
    if db.execute(_ENTRIES_FROM_TO, (first, last, len(in_order))).get != "\n".join(in_order):
        return False
    db.execute(_LEAVE_FROM_TO, (first, last))
    return True


def _json(values: list[Any]) -> str:
    return orjson.dumps(values).decode()
