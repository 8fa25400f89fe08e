"""Values that were read or written a moment ago, in bulk: whoever does that often deletes them next, and watchers are shown them
again.

What a key was at a revision never changes, so nothing here can go stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probate.core.generational_cache import Recent
from probate.store.contract import Found, Record, Txn

NUMBER = 2_000
MAX_BYTES = 8 * 1024
"""Of a value that is remembered: all of them are 64 MB at most, and half of that if no more than some hundred are read at once."""


class Lately:
    """What was read lately."""

    def __init__(self) -> None:
        self._records: Recent[Record] = Recent(NUMBER)

    def note(self, records: Sequence[Found]) -> None:
        """These were read, or have become durable."""
        self._records.update({one.key: one for one in records[:NUMBER] if type(one) is Record and len(one.value) <= MAX_BYTES})

    def values(self, txns: Iterable[Txn]) -> list[bytes]:
        """The values that these expect to be there: of the first ones, up to one that is not remembered."""
        found: list[bytes] = []
        recall = self._records.get
        for txn in txns:
            record = recall(txn.key)
            if record is None or record.revision != txn.expects:
                break
            found.append(record.value)
        return found
