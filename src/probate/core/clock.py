"""Time is given, never taken: every module that needs it receives a `Clock`.

`SystemClock` is the real one. `FakeClock` stands still until somebody calls `advance`; then it wakes every sleeper whose
time has come, in order of their deadlines, and lets each run until it waits again. So a day of retention is tested in a
millisecond, and the same way each time.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    """What a module may know of time."""

    def now(self) -> float:
        """Wall-clock time, in seconds since the epoch. May jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment. Never goes back; only differences mean anything."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back once `monotonic()` has grown by `seconds`, not earlier."""
        ...


class SystemClock:
    """The machine's own time."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SteadyClock:
    """A clock whose wall-clock time is that of another one when this was made, and what has passed since.

    For ages that are reckoned from times which the process itself has noted: nobody who sets the wall clock changes them.
    """

    def __init__(self, clock: Clock) -> None:
        self.monotonic, self.sleep = clock.monotonic, clock.sleep
        self._apart = clock.now() - clock.monotonic()

    def now(self) -> float:
        return self._apart + self.monotonic()


class FakeClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._wrong = 0.0  # by how much the wall clock differs from what passed
        self._ids = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now + self._wrong

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock, forward or back. No time passes by that."""
        self._wrong += seconds

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._ids), waiter))
        await waiter

    @property
    def next(self) -> float | None:
        """When the next sleeper wakes; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass. Sleepers wake at their own time, one after the other."""
        until = self._now + seconds
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            deadline, _, waiter = heapq.heappop(self._sleepers)
            self._now = max(self._now, deadline)
            if not waiter.done():
                waiter.set_result(None)
            await _settle()
        self._now = until


async def _settle() -> None:
    """Give every task that can run a few turns, so that what follows a wake-up happens before time goes on."""
    for _ in range(10):
        await asyncio.sleep(0)
