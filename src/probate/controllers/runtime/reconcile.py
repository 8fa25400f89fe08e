"""The loop of a controller that looks at one thing at a time, whenever something about it has changed.

A controller says which of its keys a change is about, and brings what a key stands for one step further. It goes by what is there,
not by what happened: changes only say where to look. After a start, and whenever changes were missed, it begins anew with all that
there is. While nothing changes and nothing is promised for later, nothing is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from probate.api.ownership import Touch
from probate.controllers.runtime.workqueue import Queue
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.gc.backend import World

RETRY_SECONDS = 1.0
MISTAKE_SECONDS = 30.0

log = logging.getLogger(__name__)


class Reconciler(Protocol):
    """What a controller knows of its own matter."""

    async def begin(self) -> Iterable[str]:
        """Forget what is known, and say which keys are to be looked at whatever happened before."""
        ...

    def concerns(self, touch: Touch) -> Iterable[str]:
        """The keys that these changes are about."""
        ...

    async def reconcile(self, key: str) -> float | None:
        """Go one step further. Returns in how many seconds to go on if nothing happens; None if there is nothing more to do."""
        ...


class Loop:
    """One controller at work."""

    def __init__(self, name: str, reconciler: Reconciler, world: World, clock: Clock) -> None:
        self._name = name
        self._reconciler = reconciler
        self._world = world
        self._clock = clock
        self._queue = Queue(clock)
        self._is_busy = False
        self.is_following = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do about the changes seen so far."""
        return self.is_following and not self._queue and not self._is_busy

    async def run(self) -> None:
        """Follow and reconcile. Never returns; after a failure it begins anew."""
        while True:
            try:
                await self._follow()
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("%s: lost the thread, and begins anew: %s", self._name, error)
                await self._clock.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        async with self._world.touches(await self._world.revision(), self._take) as touches:
            for key in await self._reconciler.begin():
                self._queue.add(key)
            self.is_following = True
            try:
                async with tasks.beside(self._work()):
                    async for some in touches:
                        self._take(some)
                        await asyncio.sleep(0)  # also while there is always something more to take
            finally:
                self.is_following = False

    def _take(self, touches: list[Touch]) -> None:
        for touch in touches:
            for key in self._reconciler.concerns(touch):
                self._queue.add(key)

    async def _work(self) -> None:
        while True:
            key = await self._queue.take()
            self._is_busy = True
            await self._look_at(key)
            self._is_busy = False
            await asyncio.sleep(0)  # others get the event loop, also while there is always something to do

    async def _look_at(self, key: str) -> None:
        try:
            again = await self._reconciler.reconcile(key)
        except errors.ApiError as error:
            log.warning("%s: %s is tried again: %s", self._name, key, error)
            again = RETRY_SECONDS
        except Exception:  # a mistake of ours: it must not keep the other keys waiting
            log.exception("%s: %s could not be looked at, and is tried again", self._name, key)
            again = MISTAKE_SECONDS
        if again is not None:
            self._queue.add_later(key, again)
