"""Reconciles keys fed by informers, several at a time and never the same key twice at once. (`reconcile` says why there are two.)

A key that is added while it is being reconciled is reconciled again afterwards. After a long reconcile, four times as long passes
before the next one: so an owner of thousands of objects, which change all the time, takes a fifth of the time at most. A failure is
retried with exponential backoff, which a success resets. A conflict does not count as a failure: another client wrote first, and
its write has arrived, or will arrive, as a change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate.client.informers import NamespacedName
from probate.controllers.runtime.workqueue import IMMEDIATELY, Queue, Result
from probate.core import errors
from probate.core.clock import Clock
from probate.core.logs import facts

FIRST_RETRY_SECONDS = 0.05
MAX_RETRY_SECONDS = 60.0
CONCURRENCY = 5
LONG_SECONDS = 0.005
"""A reconcile that takes longer is followed by a pause."""
PAUSE_FACTOR = 4.0
MAX_PAUSE_SECONDS = 1.0

Sync: TypeAlias = Callable[[NamespacedName], Awaitable[Result]]
"""Reconciles one key: `workqueue` says what the result means."""

log = logging.getLogger(__name__)


class Workers:
    """Reconciles the keys of one queue. `title` names the queue in logs; `controller` is the name that `registry` sets."""

    def __init__(self, title: str, sync: Sync, clock: Clock, *, at_once: int = CONCURRENCY) -> None:
        self.title = self.controller = title
        self._sync = sync
        self._clock = clock
        self._queue = Queue(clock)
        self._slots = asyncio.Semaphore(at_once)
        self._failures: dict[NamespacedName, int] = {}
        self._running: set[NamespacedName] = set()
        self._added_while_running: set[NamespacedName] = set()
        self._paused_until: dict[NamespacedName, float] = {}  # some of these times are over

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return not len(self._queue) and not self._running

    def add(self, name: NamespacedName) -> None:
        """Enqueues a key: now, or when its pause is over."""
        until = self._paused_until.get(name)
        if until is None or until <= self._clock.monotonic():
            self._queue.add(_key(name))
        else:
            self._queue.add_later(_key(name), until - self._clock.monotonic())

    def add_later(self, name: NamespacedName, seconds: float) -> None:
        """Enqueues a key after this many seconds."""
        self._queue.add_later(_key(name), seconds)

    async def run(self) -> None:
        """Reconciles. Never returns."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._slots.acquire()
                name = _name(await self._queue.take())
                if name in self._running:
                    self._added_while_running.add(name)
                    self._slots.release()
                else:
                    self._running.add(name)
                    group.create_task(self._reconcile(name))

    async def _reconcile(self, name: NamespacedName) -> None:
        began = self._clock.monotonic()
        try:
            requeue_after = await self._attempt(name)
        finally:
            self._running.remove(name)
            self._slots.release()
        if requeue_after != IMMEDIATELY:
            self._pause(name, self._clock.monotonic() - began)
        self._requeue(name, requeue_after)

    def _pause(self, name: NamespacedName, duration: float) -> None:
        now = self._clock.monotonic()
        if len(self._paused_until) > 2 * len(self._queue) + 100:
            self._paused_until = {name: until for name, until in self._paused_until.items() if until > now}
        if duration > LONG_SECONDS:
            self._paused_until[name] = now + min(PAUSE_FACTOR * duration, MAX_PAUSE_SECONDS)

    def _requeue(self, name: NamespacedName, requeue_after: Result) -> None:
        if requeue_after is not None:
            self.add_later(name, requeue_after)
        if name in self._added_while_running:
            self._added_while_running.remove(name)
            self.add(name)

    async def _attempt(self, name: NamespacedName) -> Result:
        try:
            requeue_after = await self._sync(name)
        except Exception as error:  # noqa: BLE001 whatever it is, the other keys must not wait for it
            return FIRST_RETRY_SECONDS if _is_conflict(error) else self._fail(name, error)
        self._failures.pop(name, None)
        return requeue_after

    def _fail(self, name: NamespacedName, error: Exception) -> float:
        """Logs a failure and returns after how many seconds to retry."""
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        is_defect = _is_defect(error)
        log.log(
            logging.ERROR if is_defect else logging.INFO,
            "reconcile failed, will retry",
            exc_info=is_defect,
            extra=facts(controller=self.controller, queue=self.title, namespace=name.namespace, name=name.name, failure=str(error)),
        )
        return float(min(FIRST_RETRY_SECONDS * 2 ** min(failures, 20), MAX_RETRY_SECONDS))


def _is_conflict(error: Exception) -> bool:
    """Whether the only failure is that another client wrote first."""
    if isinstance(error, ExceptionGroup):
        return error.split(errors.Conflict)[1] is None
    return isinstance(error, errors.Conflict)


def _is_defect(error: Exception) -> bool:
    """Whether the error is a defect of the controller, not one that a server may return."""
    if isinstance(error, ExceptionGroup):
        return error.split(errors.ApiError)[1] is not None
    return not isinstance(error, errors.ApiError)


def _key(name: NamespacedName) -> str:
    return f"{name.namespace}/{name.name}"


def _name(key: str) -> NamespacedName:
    namespace, _, name = key.partition("/")
    return NamespacedName(namespace, name)
