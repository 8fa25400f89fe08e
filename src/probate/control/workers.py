"""The loop of a controller that is told by informers where to look: a key at a time, and the same key never twice at once.

A failure is tried again, later each time; success makes that forgotten. A conflict is no failure: somebody was faster, and what
they did has come, or will come, as a change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate import errors
from probate.clock import Clock
from probate.control.informers import Name
from probate.control.queue import Queue

FIRST_RETRY_SECONDS = 0.05
LONGEST_RETRY_SECONDS = 60.0

Sync: TypeAlias = Callable[[Name], Awaitable[float | None]]
"""Brings what a name stands for one step further. Returns in how many seconds to look again; None: when something changes."""

log = logging.getLogger(__name__)


class Workers:
    """Works off a queue of names."""

    def __init__(self, title: str, sync: Sync, clock: Clock) -> None:
        self.title = title
        self._sync = sync
        self._queue = Queue(clock)
        self._failures: dict[Name, int] = {}
        self._is_busy = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return not len(self._queue) and not self._is_busy

    def add(self, name: Name) -> None:
        """Look at it soon."""
        self._queue.add(_text(name))

    def add_later(self, name: Name, seconds: float) -> None:
        """Look at it then."""
        self._queue.add_later(_text(name), seconds)

    async def run(self) -> None:
        """Never returns."""
        while True:
            name = _name(await self._queue.take())
            self._is_busy = True
            again = await self._attempt(name)
            if again is not None:
                self.add_later(name, again)
            self._is_busy = False
            await asyncio.sleep(0)

    async def _attempt(self, name: Name) -> float | None:
        try:
            again = await self._sync(name)
        except errors.Conflict:
            return FIRST_RETRY_SECONDS
        except Exception as error:  # noqa: BLE001 whatever it is must not keep the other names waiting
            return self._failed(name, error)
        self._failures.pop(name, None)
        return again

    def _failed(self, name: Name, error: Exception) -> float:
        times = self._failures[name] = self._failures.get(name, 0) + 1
        is_ours = not isinstance(error, errors.ApiError)
        log.log(logging.ERROR if is_ours else logging.INFO, "%s: %s is tried again: %s", self.title, name, error, exc_info=is_ours)
        return float(min(FIRST_RETRY_SECONDS * 2 ** min(times, 20), LONGEST_RETRY_SECONDS))


def _text(name: Name) -> str:
    return f"{name.namespace}/{name.name}"


def _name(text: str) -> Name:
    namespace, _, name = text.partition("/")
    return Name(namespace, name)
