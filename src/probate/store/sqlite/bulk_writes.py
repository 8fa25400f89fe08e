"""Applies independent transactions together, in a few SQLite calls, with the same result as `writes.apply` of each.

Creates of clients that write at the same time are applied `BATCH_ROWS` at a time, on the event loop: a statement costs more than
the rows it writes. Deletes are applied hundreds at a time, off the loop. The deletes of a cascade are usually adjacent: all
dependents of an owner are next to each other in its index, and their names, derived from the owner's name, are next to each other
among the objects. So each table is first searched for the rows between the first and the last key. If these are exactly the rows to
delete, they are deleted as one range, which takes a fifth of the time of finding each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import orjson

from probate.store import checksums, keys
from probate.store.contract import EmptyRange, Guard, Revision, Txn, Unchanged
from probate.store.sqlite import writes

BATCH_ROWS = 16
"""Creates that are applied together."""
MAX_VALUE_BYTES = 64 * 1024
"""The largest value of a create that is applied together with others."""
MIN_RANGE_ENTRIES = 32
"""With fewer index entries, checking whether they are adjacent is not worth its cost."""

_CREATE = f"INSERT INTO live VALUES {', '.join(['(?, ?)'] * BATCH_ROWS)} ON CONFLICT DO NOTHING"
_LOG = f"INSERT INTO log VALUES {', '.join(['(?, ?, NULL, ?, ?)'] * BATCH_ROWS)}"
_UNDO = "DELETE FROM live WHERE key = ? AND rev = ?"

_FROM_TO = "SELECT group_concat(line, char(10)) FROM (SELECT {} AS line FROM {} WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?)"
_LIVE_FROM_TO, _ENTRIES_FROM_TO = _FROM_TO.format("key || char(9) || rev", "live"), _FROM_TO.format("key", "entry")
_DELETE_FROM_TO = "DELETE FROM live WHERE key BETWEEN ? AND ?"
_REMOVE_ENTRIES_FROM_TO = "DELETE FROM entry WHERE key BETWEEN ? AND ?"
_LOG_FROM_TO = (
    "INSERT INTO log SELECT ? + row_number() OVER (ORDER BY key), key, rev, NULL, NULL FROM live WHERE key BETWEEN ? AND ?"
)

_COUNT_EXPECTED = "SELECT count(*) FROM json_each(?) AS row JOIN live ON live.key = row.value->>0 AND live.rev = row.value->>1"
_DELETE_MANY = "DELETE FROM live WHERE key IN (SELECT value FROM json_each(?))"
_REMOVE_ENTRIES = "DELETE FROM entry WHERE key IN (SELECT value FROM json_each(?))"
_LOG_MANY = "INSERT INTO log SELECT ? + row.key, row.value->>0, row.value->>1, NULL, NULL FROM json_each(?) AS row"
_GONE_SINCE = "INSERT INTO gone SELECT key, rev FROM log WHERE rev >= ?"


def are_independent_creates(txns: Sequence[Txn]) -> bool:
    """Returns whether each transaction creates a different object without index entries, under guards that none of them affects."""
    own: set[str] = set()
    for txn in txns:
        if txn.expected_revision or txn.add_entries or txn.remove_entries or txn.value is None or len(txn.value) > MAX_VALUE_BYTES:
            return False
        own.add(txn.key)
    guards = {guard for txn in txns for guard in txn.guards}
    return len(own) == len(txns) and all(isinstance(guard, Unchanged) and guard.key not in own for guard in guards)


def create(db: apsw.Cursor, txns: Sequence[Txn], revision: Revision, *, cache: writes.GuardCache) -> bool:
    """Applies `BATCH_ROWS` creates, from `revision` on. Only for `are_independent_creates`.

    Fast path: equals `writes.apply` of each. Returns False, without any change, if a guard fails or an object exists.
    """
    guards = {guard for txn in txns for guard in txn.guards}
    if not all(writes.guard_holds(db, guard, cache) for guard in guards):
        return False
    numbered = list(enumerate(txns, revision))
    db.execute(_CREATE, [part for number, txn in numbered for part in (txn.key, number)])
    if db.connection.changes() < len(txns):
        db.executemany(_UNDO, [(txn.key, number) for number, txn in numbered])
        return False
    rows = [(number, txn.key, txn.value, checksums.compute(txn.key, txn.value or b"", number)) for number, txn in numbered]
    db.execute(_LOG, [part for row in rows for part in row])
    for txn in txns:
        cache.pop(txn.key, None)
    return True


def count_independent_deletes(txns: Sequence[Txn]) -> int:
    """Returns how many of the first transactions only delete, each a different object, under guards that none of them can break.

    Their order does not matter. (A range of the index that is empty stays empty, because a delete adds no entries.)
    """
    own: set[str] = set()
    guarded: set[str] = set()
    guards: tuple[Guard, ...] = ()
    for number, txn in enumerate(txns):
        if txn.value is not None or txn.key in own or txn.key in guarded:
            return number
        own.add(txn.key)
        if txn.guards is not guards:  # the deletes of one owner's dependents share their guards
            guards = txn.guards
            named = [guard.key for guard in guards if type(guard) is Unchanged and keys.is_object(guard.key)]
            if not own.isdisjoint(named) or (len(named) < len(guards) and not all(map(_survives_deletes, guards))):
                return number
            guarded.update(named)
    return len(txns)


def _survives_deletes(guard: Guard) -> bool:
    """Returns whether the guard, if it holds, still holds after deletes of other objects."""
    if isinstance(guard, EmptyRange):
        return not keys.is_object(guard.prefix)
    return isinstance(guard, Unchanged) and keys.is_object(guard.key)


def delete(db: apsw.Cursor, txns: Sequence[Txn], revision: Revision) -> int:
    """Applies the first deletes, at `revision` and the revisions after it. Only for `count_independent_deletes`.

    Fast path: equals `writes.apply` of each. Returns how many were applied: those whose guards hold before any of them is applied,
    because a guard may wait for an earlier delete. Returns 0, without any change, if one of these objects is not as expected.
    However many they are, this makes only a few SQLite calls, so it can run on a thread while the event loop has the interpreter.
    """
    permitted = txns[: _count_permitted(db, txns)]
    if not permitted:
        return 0
    expected = [(txn.key, txn.expected_revision) for txn in permitted]
    in_order = sorted(expected)
    if _are_adjacent(db, in_order):
        first, last = in_order[0][0], in_order[-1][0]
        if in_order == expected:
            db.execute(_LOG_FROM_TO, (revision - 1, first, last))
        else:
            db.execute(_LOG_MANY, (revision, _json(expected)))
        db.execute(_DELETE_FROM_TO, (first, last))
    else:
        rows = _json(expected)
        if db.execute(_COUNT_EXPECTED, (rows,)).get != len(permitted):
            return 0
        db.execute(_LOG_MANY, (revision, rows))
        db.execute(_DELETE_MANY, (_json([txn.key for txn in permitted]),))
    db.execute(_GONE_SINCE, (revision,))
    _remove_entries(db, permitted)
    return len(permitted)


def _count_permitted(db: apsw.Cursor, txns: Sequence[Txn]) -> int:
    """Returns how many of the first transactions have guards that hold."""
    cache: writes.GuardCache = {}
    guards: tuple[Guard, ...] = ()
    for number, txn in enumerate(txns):
        if txn.guards is not guards:  # the deletes of one owner's dependents share their guards
            guards = txn.guards
            if not all(writes.guard_holds(db, guard, cache) for guard in guards):
                return number
    return len(txns)


def _are_adjacent(db: apsw.Cursor, in_order: list[tuple[str, Revision]]) -> bool:
    """Returns whether the objects exist at these revisions with no other object between them. Keys contain no tab or line break."""
    text = "\n".join([f"{key}\t{revision}" for key, revision in in_order])
    stored: str | None = db.execute(_LIVE_FROM_TO, (in_order[0][0], in_order[-1][0], len(in_order))).get
    return stored == text


def _remove_entries(db: apsw.Cursor, txns: Sequence[Txn]) -> None:
    """Removes the index entries of the deleted objects, range by range where they are adjacent."""
    ranges: dict[str, list[str]] = {}
    for txn in txns:
        for entry in txn.remove_entries:
            ranges.setdefault(entry.removesuffix(txn.key), []).append(entry)
    scattered: list[str] = []
    for entries in ranges.values():
        if len(entries) < MIN_RANGE_ENTRIES or not _remove_if_adjacent(db, sorted(entries)):
            scattered += entries
    if scattered:
        db.execute(_REMOVE_ENTRIES, (_json(scattered),))


def _remove_if_adjacent(db: apsw.Cursor, in_order: list[str]) -> bool:
    """Removes the entries as one range if no other entry is between them. Returns whether it did."""
    first, last = in_order[0], in_order[-1]
    if db.execute(_ENTRIES_FROM_TO, (first, last, len(in_order))).get != "\n".join(in_order):
        return False
    db.execute(_REMOVE_ENTRIES_FROM_TO, (first, last))
    return True


def _json(values: list[Any]) -> str:
    return orjson.dumps(values).decode()
