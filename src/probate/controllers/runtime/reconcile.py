"""Reconciles keys one at a time, fed by the backend's watch: for controllers that act on the store in bulk.

There are two reconcilers, and they differ in where changes come from and how much one key costs. `ChangeFeedLoop` reads every
changed key of the store (`Backend.watch_keys`, no objects, no informer) and processes one key at a time, since a key stands for a
whole namespace or all Events. `workers.Workers` is fed by informers and processes several keys at once, with exponential backoff
for each.

Both are level-triggered: a change only says which key to reconcile. After a start, and whenever changes were missed, the loop
starts again with everything that exists. While nothing changes and nothing is due, it does nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from probate.api.ownership import ChangedKeys
from probate.controllers.runtime.workqueue import Queue, Result
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.gc.backend import Backend

RETRY_SECONDS = 1.0
DEFECT_RETRY_SECONDS = 30.0

log = logging.getLogger(__name__)


class Reconciler(Protocol):
    """The part of a `ChangeFeedLoop` that differs between controllers."""

    async def begin(self) -> Iterable[str]:
        """Forgets all state, and returns the keys to reconcile whatever happened before."""
        ...

    def keys_of(self, changed: ChangedKeys) -> Iterable[str]:
        """Returns the keys to reconcile because of these changes."""
        ...

    async def reconcile(self, key: str) -> Result:
        """Brings the key's object or scope one step closer to its desired state."""
        ...


class ChangeFeedLoop:
    """Runs one reconciler."""

    def __init__(self, name: str, reconciler: Reconciler, backend: Backend, *, clock: Clock) -> None:
        self._name = name
        self._reconciler = reconciler
        self._backend = backend
        self._clock = clock
        self._queue = Queue(clock)
        self._is_busy = False
        self.is_following = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do about the changes received so far."""
        return self.is_following and not self._queue and not self._is_busy

    async def run(self) -> None:
        """Watches and reconciles. Never returns; after a failure it starts again."""
        while True:
            try:
                await self._follow()
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("controller watch failed, restarting", extra=facts(controller=self._name, error=str(error)))
                await self._clock.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        async with self._backend.watch_keys(await self._backend.revision(), self._enqueue) as batches:
            for key in await self._reconciler.begin():
                self._queue.add(key)
            self.is_following = True
            try:
                async with tasks.BackgroundTask(self._work()):
                    async for batch in batches:
                        self._enqueue(batch)
                        await asyncio.sleep(0)  # yields the event loop even while there is always another batch
            finally:
                self.is_following = False

    def _enqueue(self, batch: list[ChangedKeys]) -> None:
        for changed in batch:
            for key in self._reconciler.keys_of(changed):
                self._queue.add(key)

    async def _work(self) -> None:
        while True:
            key = await self._queue.take()
            self._is_busy = True
            await self._reconcile(key)
            self._is_busy = False
            await asyncio.sleep(0)  # yields the event loop even while there is always another key

    async def _reconcile(self, key: str) -> None:
        try:
            requeue_after = await self._reconciler.reconcile(key)
        except errors.ApiError as error:
            log.warning("reconcile failed, will retry", extra=facts(controller=self._name, key=key, error=str(error)))
            requeue_after = RETRY_SECONDS
        except Exception:  # a defect in the controller: the other keys must not wait for it
            log.exception("reconcile failed unexpectedly, will retry", extra=facts(controller=self._name, key=key))
            requeue_after = DEFECT_RETRY_SECONDS
        if requeue_after is not None:
            self._queue.add_later(key, requeue_after)
