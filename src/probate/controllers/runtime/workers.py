"""The loop of a controller that is told by informers where to look: several names at a time, and the same name never twice at once.

A name that is added while it is being looked at is looked at again afterwards. Where a look takes long, four times as long passes
before the next one: so an owner of thousands, about whom there is always news, takes a fifth of the time at most. A failure is
tried again, later each time; success makes that forgotten. A conflict is no failure: somebody was faster, and what they did has
come, or will come, as a change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate.client.informers import Name
from probate.controllers.runtime.workqueue import Queue
from probate.core import errors
from probate.core.clock import Clock

FIRST_RETRY_SECONDS = 0.05
LONGEST_RETRY_SECONDS = 60.0
AT_ONCE = 5
LONG_SECONDS = 0.005
"""A look that takes longer is followed by a rest."""
RESTS = 4.0
LONGEST_REST_SECONDS = 1.0

Sync: TypeAlias = Callable[[Name], Awaitable[float | None]]
"""Brings what a name stands for one step further. Returns in how many seconds to look again; None: when something changes; 0: there
was too much for one look."""

log = logging.getLogger(__name__)


class Workers:
    """Works off a queue of names."""

    def __init__(self, title: str, sync: Sync, clock: Clock, *, at_once: int = AT_ONCE) -> None:
        self.title = title
        self._sync = sync
        self._clock = clock
        self._queue = Queue(clock)
        self._room = asyncio.Semaphore(at_once)
        self._failures: dict[Name, int] = {}
        self._under_way: set[Name] = set()
        self._again: set[Name] = set()  # of those under way
        self._rests: dict[Name, float] = {}  # until when; some of them are over

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return not len(self._queue) and not self._under_way

    def add(self, name: Name) -> None:
        """Look at it soon."""
        until = self._rests.get(name)
        if until is None or until <= self._clock.monotonic():
            self._queue.add(_text(name))
        else:
            self._queue.add_later(_text(name), until - self._clock.monotonic())

    def add_later(self, name: Name, seconds: float) -> None:
        """Look at it then."""
        self._queue.add_later(_text(name), seconds)

    async def run(self) -> None:
        """Never returns."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._room.acquire()
                name = _name(await self._queue.take())
                if name in self._under_way:
                    self._again.add(name)
                    self._room.release()
                else:
                    self._under_way.add(name)
                    group.create_task(self._look_at(name))

    async def _look_at(self, name: Name) -> None:
        began = self._clock.monotonic()
        try:
            again = await self._attempt(name)
        finally:
            self._under_way.remove(name)
            self._room.release()
        if again != 0:
            self._rest(name, self._clock.monotonic() - began)
        self._look_again(name, again)

    def _rest(self, name: Name, took: float) -> None:
        now = self._clock.monotonic()
        if len(self._rests) > 2 * len(self._queue) + 100:
            self._rests = {one: until for one, until in self._rests.items() if until > now}
        if took > LONG_SECONDS:
            self._rests[name] = now + min(RESTS * took, LONGEST_REST_SECONDS)

    def _look_again(self, name: Name, seconds: float | None) -> None:
        if seconds is not None:
            self.add_later(name, seconds)
        if name in self._again:
            self._again.remove(name)
            self.add(name)

    async def _attempt(self, name: Name) -> float | None:
        try:
            again = await self._sync(name)
        except Exception as error:  # noqa: BLE001 whatever it is must not keep the other names waiting
            return FIRST_RETRY_SECONDS if _is_conflict(error) else self._failed(name, error)
        self._failures.pop(name, None)
        return again

    def _failed(self, name: Name, error: Exception) -> float:
        times = self._failures[name] = self._failures.get(name, 0) + 1
        is_ours = _is_ours(error)
        log.log(logging.ERROR if is_ours else logging.INFO, "%s: %s is tried again: %s", self.title, name, error, exc_info=is_ours)
        return float(min(FIRST_RETRY_SECONDS * 2 ** min(times, 20), LONGEST_RETRY_SECONDS))


def _is_conflict(error: Exception) -> bool:
    """Whether somebody else was faster, and that is all."""
    if isinstance(error, ExceptionGroup):
        return error.split(errors.Conflict)[1] is None
    return isinstance(error, errors.Conflict)


def _is_ours(error: Exception) -> bool:
    """Whether it is a mistake of ours, and not an answer that can be expected of a server."""
    if isinstance(error, ExceptionGroup):
        return error.split(errors.ApiError)[1] is not None
    return not isinstance(error, errors.ApiError)


def _text(name: Name) -> str:
    return f"{name.namespace}/{name.name}"


def _name(text: str) -> Name:
    namespace, _, name = text.partition("/")
    return Name(namespace, name)
