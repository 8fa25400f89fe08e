"""Backoff for pods that finish on a node: each replacement on that node waits longer, so that a crashing pod causes no busy
loop.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.controllers.runtime import remaining_time

FIRST_SECONDS = 1.0
MAX_SECONDS = 900.0


class _Record(NamedTuple):
    seconds: float
    until: float


class FailedPodBackoff:
    """When a finished pod may be replaced. Entries that are old enough are dropped."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, _Record]] = {}  # by uid of the DaemonSet, then by node

    def remaining(self, uid: str, node: str, now: float) -> float:
        """Returns in how many seconds the DaemonSet's next pod on the node may be replaced; 0 for now."""
        record = self._records.get(uid, {}).get(node)
        return remaining_time.until(record.until, now) if record is not None else 0.0

    def record_replacement(self, uid: str, node: str, now: float) -> None:
        """Records a replacement."""
        records = self._records.get(uid, {})
        recent = {name: record for name, record in records.items() if now < record.until + 2 * MAX_SECONDS}
        before = recent.get(node)
        seconds = FIRST_SECONDS if before is None else min(2 * before.seconds, MAX_SECONDS)
        self._records[uid] = {**recent, node: _Record(seconds, now + seconds)}

    def forget(self, uid: str) -> None:
        """Drops the entries of a deleted DaemonSet."""
        self._records.pop(uid, None)
