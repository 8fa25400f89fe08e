"""Clocks. A module that needs the time receives a `Clock` and never reads the system's.

`SystemClock` is the real one. `FakeClock` stands still until a test calls `advance`: then it wakes every sleeper whose time has
come, in order of their deadlines, and lets each run until it waits again. So a test of a day of retention takes a millisecond and
is repeatable.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, monotonic time and sleeping."""

    def now(self) -> float:
        """Returns the wall-clock time in seconds since the epoch. May jump."""
        ...

    def monotonic(self) -> float:
        """Returns seconds since an arbitrary moment. Never goes back; only differences are meaningful."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Blocks until `monotonic()` has grown by `seconds`, never less."""
        ...


class SystemClock:
    """The machine's time."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SteadyClock:
    """A clock whose wall-clock time is another clock's at creation, plus the monotonic time since.

    Use it for ages that are computed from times which the process itself has recorded: setting the wall clock does not change them.
    """

    def __init__(self, clock: Clock) -> None:
        self.monotonic, self.sleep = clock.monotonic, clock.sleep
        self._offset = clock.now() - clock.monotonic()

    def now(self) -> float:
        return self._offset + self.monotonic()


class FakeClock:
    """A clock that stands still until `advance` is called."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._jumped = 0.0  # by how much the wall clock was set
        self._ids = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now + self._jumped

    def jump(self, seconds: float) -> None:
        """Sets the wall clock forward or back. No monotonic time passes."""
        self._jumped += seconds

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
    def next_wakeup(self) -> float | None:
        """The time at which the next sleeper wakes; None if there are no sleepers."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Advances time by `seconds`. Sleepers wake at their own times, one after the other."""
        until = self._now + seconds
        await _run_ready_tasks()
        while self._sleepers and self._sleepers[0][0] <= until:
            deadline, _, waiter = heapq.heappop(self._sleepers)
            self._now = max(self._now, deadline)
            if not waiter.done():
                waiter.set_result(None)
            await _run_ready_tasks()
        self._now = until


async def _run_ready_tasks() -> None:
    """Lets every ready task run a few times, so that the work that follows a wake-up happens before time advances."""
    for _ in range(10):
        await asyncio.sleep(0)
