"""How long to wait before a pod that has ended on a node is replaced there: longer each time, so that nothing spins."""

from __future__ import annotations

from typing import NamedTuple

from probate.controllers.runtime import durations

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 900.0


class _Record(NamedTuple):
    seconds: float
    until: float


class Patience:
    """When something may be done again. What was long ago is forgotten."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, _Record]] = {}  # by the set's uid, and by node

    def waits(self, uid: str, node: str, now: float) -> float:
        """In how many seconds the next pod of this set may be replaced on the node; 0 for now."""
        record = self._records.get(uid, {}).get(node)
        return durations.until(record.until, now) if record is not None else 0.0

    def note(self, uid: str, node: str, now: float) -> None:
        """A pod was replaced."""
        known = self._records.get(uid, {})
        recent = {name: one for name, one in known.items() if now < one.until + 2 * LONGEST_SECONDS}
        before = recent.get(node)
        seconds = FIRST_SECONDS if before is None else min(2 * before.seconds, LONGEST_SECONDS)
        self._records[uid] = {**recent, node: _Record(seconds, now + seconds)}

    def forget(self, uid: str) -> None:
        """The set is gone."""
        self._records.pop(uid, None)
