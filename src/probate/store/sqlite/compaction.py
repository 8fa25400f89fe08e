"""Compacts history: removes the rows that no read at the compacted revision or later can reach, a few rows at a time.

Every log row up to that revision has made the version that it replaced unreachable, and a row of a delete is itself no longer
needed. So one pass in the order of revisions finds everything to remove, and a durable mark of its progress makes it safe to stop
at any point.
"""

from __future__ import annotations

import apsw

from probate.store.contract import Revision
from probate.store.sqlite import reads, writes

ROWS_PER_STEP = 250

_SWEPT = "SELECT swept FROM meta"
_NEXT = "SELECT rev, key, prev, value IS NULL FROM log WHERE rev > ? AND rev <= ? ORDER BY rev LIMIT ?"
_REMOVE_VERSION = "DELETE FROM log WHERE rev = ?"
_REMOVE_GONE = "DELETE FROM gone WHERE key = ? AND rev = ?"


def compacted_revision(db: apsw.Connection) -> Revision:
    """Returns the revision up to which history is compacted. Rows before it may still exist, until they are swept."""
    revision: Revision = db.execute("SELECT compacted FROM meta").get
    return revision


def mark_compacted(db: apsw.Connection, before: Revision) -> None:
    """Records durably that history before this revision is compacted."""
    with writes.transaction(db):
        db.execute("UPDATE meta SET compacted = max(compacted, ?)", (before,))
        db.execute("DELETE FROM times WHERE rev < ?", (before,))


def probe_write(db: apsw.Connection) -> None:
    """Writes without changing anything: succeeds if there is space for a write."""
    with writes.transaction(db):
        db.execute("UPDATE meta SET swept = swept")


def sweep_step(db: apsw.Connection, until: Revision) -> bool:
    """Removes the next few rows that no read at `until` or later needs. Returns False when none are left."""
    with writes.transaction(db):
        swept: Revision = db.execute(_SWEPT).get
        last = min(until, reads.revision(db) - 1)  # the newest row stays: it holds the store's revision
        rows = db.execute(_NEXT, (swept, last, ROWS_PER_STEP)).fetchall()
        db.executemany(_REMOVE_VERSION, ((prev,) for _, _, prev, _ in rows if prev is not None))
        deletes = [(key, rev) for rev, key, _, is_delete in rows if is_delete]
        db.executemany(_REMOVE_VERSION, ((rev,) for _, rev in deletes))
        db.executemany(_REMOVE_GONE, deletes)
        if last > swept:
            db.execute("UPDATE meta SET swept = ?", (rows[-1][0] if len(rows) == ROWS_PER_STEP else last,))
        return len(rows) == ROWS_PER_STEP
