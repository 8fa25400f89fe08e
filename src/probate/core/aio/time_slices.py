"""Fair time slices: long work on the event loop runs in slices, one at a time between requests.

A task that yields with `asyncio.sleep(0)` lets others run first, but five such tasks run five slices in a row before the loop polls
its sockets again. Tasks that call `wait_turn` queue instead: between any two slices, of the same task or of others, requests are
served.

Short slices cost more in total than long ones, so slices are short only while requests arrive.
"""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

RECENT_SECONDS = 0.5
BUSY_DIVISOR = 4
"""How much shorter slices are while requests arrive: two recent requests count, since one may have started the work itself."""


class TimeSlices:
    """The tasks that wait for their turn on one loop, and whether requests have arrived recently."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False
        self._last_request = self._last_request_but_one = float("-inf")
        self._has_new_request = False  # since the last turn

    def note_request(self) -> None:
        """Records that a request has arrived."""
        self._last_request_but_one, self._last_request = self._last_request, self._loop.time()
        self._has_new_request = True

    @property
    def is_busy(self) -> bool:
        """Whether at least two requests have arrived within the last `RECENT_SECONDS`."""
        return self._loop.time() - self._last_request_but_one < RECENT_SECONDS

    def slice_size(self, size: int, busy_size: int = 0) -> int:
        """Returns how much to do in one slice: `size`, or while requests arrive `busy_size` (by default a part of `size`)."""
        return (busy_size or max(1, size // BUSY_DIVISOR)) if self.is_busy else size

    async def wait_turn(self) -> None:
        """Blocks until it is the caller's turn."""
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._schedule)
        await waiter

    def _schedule(self) -> None:
        if self._has_new_request:  # the request runs first; only once, so that turns continue while requests keep arriving
            self._has_new_request = False
            self._loop.call_soon(self._grant)
        else:
            self._grant()

    def _grant(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():  # a cancelled task takes no turn
                waiter.set_result(None)
                break
        self._is_scheduled = bool(self._waiting)
        if self._is_scheduled:
            self._loop.call_soon(self._schedule)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, TimeSlices] = WeakKeyDictionary()


def current() -> TimeSlices:
    """Returns the time slices of the running loop."""
    loop = asyncio.get_running_loop()
    slices = _by_loop.get(loop)
    if slices is None:
        slices = _by_loop[loop] = TimeSlices(loop)
    return slices


async def wait_turn() -> None:
    """Blocks until it is the caller's turn on the running loop."""
    await current().wait_turn()


def slice_size(size: int, busy_size: int = 0) -> int:
    """Returns how much to do in one slice: `size`, or while requests arrive `busy_size` (by default a part of `size`)."""
    return current().slice_size(size, busy_size)
