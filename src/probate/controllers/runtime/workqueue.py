"""A work queue with delays: each key at most once, due now or at a time.

A key that is added while it is being reconciled is due again afterwards. A delay is only a promise to reconcile again: a key that
is due earlier for another reason loses its delay, and the controller adds a new one if there is still a reason to.

The result of a reconcile says when its key is added again:

    DONE            when something about the key changes
    IMMEDIATELY     now: there was too much for one reconcile
    any other       after this many seconds, or earlier if something about the key changes
"""

from __future__ import annotations

import asyncio
import heapq
from typing import Final, TypeAlias

from probate.core.aio import tasks
from probate.core.clock import Clock

Result: TypeAlias = float | None
DONE: Final = None
IMMEDIATELY: Final = 0.0

COMPACTION_SLACK = 64
"""Obsolete entries of the heap, beyond as many as there are valid ones, from which on it is rebuilt."""


class Queue:
    """Keys in the order in which they were added, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[str, None] = {}
        self._times: dict[str, float] = {}  # of the delayed keys
        self._heap: list[tuple[float, str]] = []  # of `_times`, with at most as many obsolete entries and a few more
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready) + len(self._times)

    def add(self, key: str) -> None:
        """Adds a key that is due now."""
        self._times.pop(key, None)
        self._ready[key] = None
        self._added.set()

    def add_later(self, key: str, seconds: float) -> None:
        """Adds a key that is due in this many seconds, unless it is due now or earlier already."""
        time = self._clock.monotonic() + seconds
        if key in self._ready or self._times.get(key, time + 1) <= time:
            return
        self._times[key] = time
        heapq.heappush(self._heap, (time, key))
        if len(self._heap) > 2 * len(self._times) + COMPACTION_SLACK:
            self._heap = [(time, key) for key, time in self._times.items()]
            heapq.heapify(self._heap)
        self._added.set()

    async def take(self) -> str:
        """Removes and returns the next key. Blocks until one is due."""
        while True:
            next_time = self._move_due()
            if self._ready:
                key = next(iter(self._ready))
                del self._ready[key]
                return key
            self._added.clear()
            await self._wait(next_time)

    def _move_due(self) -> float | None:
        """Makes the delayed keys ready that are due. Returns when the next one is."""
        now = self._clock.monotonic()
        while self._heap:
            time, key = self._heap[0]
            is_valid = self._times.get(key) == time
            if is_valid and time > now:
                return time
            heapq.heappop(self._heap)
            if is_valid:
                del self._times[key]
                self._ready[key] = None
        return None

    async def _wait(self, until: float | None) -> None:
        """Blocks until a key is added, or until this time."""
        if until is None:
            await self._added.wait()
            return
        waiting = {
            asyncio.ensure_future(self._added.wait()),
            asyncio.ensure_future(self._clock.sleep(until - self._clock.monotonic())),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.stop(*waiting)
