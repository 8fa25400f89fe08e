"""Carries out compactions: removes what no read at the compacted revision or later can reach, a few rows at a time.

Every row of the log up to that revision has made the version it replaced unreachable, and a deletion among them is itself
of no more use. So one pass in the order of revisions finds all there is to remove, and a mark of how far it got makes it
safe to stop anywhere.
"""

from __future__ import annotations

import apsw

from probate.store.contract import Revision
from probate.store.sqlite import reads, writes

ROWS_PER_STEP = 250

_SWEPT = "SELECT swept FROM meta"
_NEXT = "SELECT rev, key, prev, value IS NULL FROM log WHERE rev > ? AND rev <= ? ORDER BY rev LIMIT ?"
_FORGET = "DELETE FROM log WHERE rev = ?"
_FORGET_GONE = "DELETE FROM gone WHERE key = ? AND rev = ?"


def compacted(db: apsw.Connection) -> Revision:
    """History before this revision is gone, also where its rows are not swept yet."""
    mark: Revision = db.execute("SELECT compacted FROM meta").get
    return mark


def mark(db: apsw.Connection, before: Revision) -> None:
    """Decide, durably, that history before this revision is gone."""
    with writes.transaction(db):
        db.execute("UPDATE meta SET compacted = max(compacted, ?)", (before,))
        db.execute("DELETE FROM times WHERE rev < ?", (before,))


def rewrite_mark(db: apsw.Connection) -> None:
    """Write the mark as it is: succeeds if there is room for a write."""
    with writes.transaction(db):
        db.execute("UPDATE meta SET swept = swept")


def step(db: apsw.Connection, until: Revision) -> bool:
    """Remove the next few rows that nobody who reads at `until` or later needs. False when there is nothing left to do."""
    with writes.transaction(db):
        swept: Revision = db.execute(_SWEPT).get
        last = min(until, reads.revision(db) - 1)  # the newest row stays: it holds the store's revision
        rows = db.execute(_NEXT, (swept, last, ROWS_PER_STEP)).fetchall()
        db.executemany(_FORGET, ((prev,) for _, _, prev, _ in rows if prev is not None))
        ends = [(key, rev) for rev, key, _, is_end in rows if is_end]
        db.executemany(_FORGET, ((rev,) for _, rev in ends))
        db.executemany(_FORGET_GONE, ends)
        if last > swept:
            db.execute("UPDATE meta SET swept = ?", (rows[-1][0] if len(rows) == ROWS_PER_STEP else last,))
        return len(rows) == ROWS_PER_STEP
