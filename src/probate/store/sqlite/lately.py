"""Values that were read a moment ago, in bulk: whoever reads many often deletes them next, and then watchers are shown them again.

What a key was at a revision never changes, so nothing here can go stale.
"""

from __future__ import annotations

from collections.abc import Sequence

from probate.recent import Recent
from probate.store.contract import Record, Revision

NUMBER = 2_000
MAX_BYTES = 8 * 1024
"""Of a value that is remembered: all of them are 64 MB at most, and half of that if no more than some hundred are read at once."""


class Lately:
    """What was read lately."""

    def __init__(self) -> None:
        self._records: Recent[Record] = Recent(NUMBER)

    def note(self, records: Sequence[Record | None]) -> None:
        """These were read."""
        self._records.update({one.key: one for one in records[:NUMBER] if one is not None and len(one.value) <= MAX_BYTES})

    def value(self, key: str, revision: Revision) -> bytes | None:
        """The value of the key at this revision, if that is remembered."""
        record = self._records.get(key)
        return record.value if record is not None and record.revision == revision else None
