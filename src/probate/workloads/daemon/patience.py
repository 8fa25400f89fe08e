"""How long to wait before a pod that has ended on a node is replaced there: longer each time, so that nothing spins."""

from __future__ import annotations

from typing import NamedTuple

from probate.workloads import times

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 900.0


class _Record(NamedTuple):
    seconds: float
    until: float


class Patience:
    """When something may be done again. What was long ago is forgotten."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], _Record] = {}

    def waits(self, uid: str, node: str, now: float) -> float:
        """In how many seconds the next pod of this set may be replaced on the node; 0 for now."""
        record = self._records.get((uid, node))
        return times.until(record.until, now) if record is not None else 0.0

    def note(self, uid: str, node: str, now: float) -> None:
        """A pod was replaced."""
        self._records = {key: one for key, one in self._records.items() if now < one.until + 2 * LONGEST_SECONDS}
        before = self._records.get((uid, node))
        seconds = FIRST_SECONDS if before is None else min(2 * before.seconds, LONGEST_SECONDS)
        self._records[uid, node] = _Record(seconds, now + seconds)
