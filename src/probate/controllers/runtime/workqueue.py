"""What a controller has still to look at: each key once, now or at its time.

A key that is added while it is being looked at comes up again afterwards. An appointment is only a promise to look again: a key
that comes up earlier has none any more, and whoever looked makes a new one if there is still a reason to.
"""

from __future__ import annotations

import asyncio
import heapq

from probate.core.aio import tasks
from probate.core.clock import Clock

MANY = 64
"""Appointments that hold no more, among which it is worth while to look for them."""


class Queue:
    """Keys in the order in which they were added, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[str, None] = {}
        self._times: dict[str, float] = {}  # of the appointments that hold
        self._appointments: list[tuple[float, str]] = []  # with as many, at most, that hold no more, and a few besides
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready) + len(self._times)

    def add(self, key: str) -> None:
        """Look at it as soon as it is its turn."""
        self._times.pop(key, None)
        self._ready[key] = None
        self._added.set()

    def add_later(self, key: str, seconds: float) -> None:
        """Look at it in so many seconds, unless it comes up anyway, or sooner by another appointment."""
        when = self._clock.monotonic() + seconds
        if key in self._ready or self._times.get(key, when + 1) <= when:
            return
        self._times[key] = when
        heapq.heappush(self._appointments, (when, key))
        if len(self._appointments) > 2 * len(self._times) + MANY:
            self._appointments = [(when, key) for key, when in self._times.items()]
            heapq.heapify(self._appointments)
        self._added.set()

    async def take(self) -> str:
        """The next key: waits until there is one."""
        while True:
            soonest = self._keep_appointments()
            if self._ready:
                key = next(iter(self._ready))
                del self._ready[key]
                return key
            self._added.clear()
            await self._wait(soonest)

    def _keep_appointments(self) -> float | None:
        """Make ready what is due. Returns when the next appointment is."""
        now = self._clock.monotonic()
        while self._appointments:
            when, key = self._appointments[0]
            holds = self._times.get(key) == when
            if holds and when > now:
                return when
            heapq.heappop(self._appointments)
            if holds:
                del self._times[key]
                self._ready[key] = None
        return None

    async def _wait(self, until: float | None) -> None:
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
