"""What is told of a quota in its status: how much there is, and how much of it is used. What others write there is put right."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.kinds.core.quota import quota_rules
from probate.kinds.core.quota.quantity_sums import Amounts
from probate.kinds.core.quota.quota_rules import Quota
from probate.server.codec import object_codec
from probate.store import contract
from probate.store.contract import Refused, Store

Object = dict[str, Any]

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0


class Statuses:
    """Writes the status of quotas whose sums have changed, one after the other: what changes often is written less often."""

    def __init__(self, store: Store, clock: Clock, used: Callable[[Quota, int], Awaitable[Amounts]]) -> None:
        self._store = store
        self._clock = clock
        self._used = used
        self._due: dict[str, None] = {}
        self._right: dict[str, Object] = {}  # the status that each quota had when it was last written or found right, by key
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def note(self, key: str) -> None:
        """The quota at this key has another sum."""
        self._due[key] = None
        self._news.set()
        if self._task is None:
            told = "the status of quotas is not written any more"
            self._task = tasks.guard(self._run(), name="quota statuses", on_failure=lambda error: log.error(told, exc_info=error))

    def look_at(self, quotas: dict[str, Object]) -> None:
        """Put right what these quotas, by their keys, say that was not written here."""
        self._right = {key: status for key, status in self._right.items() if key in quotas}
        for key, quota in quotas.items():
            if key not in self._right or quota.get("status") != self._right[key]:
                self.note(key)

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            await tasks.stop(self._task)
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._due:
                key = next(iter(self._due))
                del self._due[key]
                await self._try(key)

    async def _try(self, key: str) -> None:
        try:
            if not await self._write(key):
                self.note(key)
        except errors.ApiError as error:
            log.warning("the status of %s is not written, trying again: %s", key, error)
            await self._clock.sleep(PAUSE_SECONDS)
            self.note(key)

    async def _write(self, key: str) -> bool:
        """Whether the quota says what is so, or is no more. Not so if somebody was faster."""
        found = await self._store.read(key)
        if found is None:
            return True
        object_ = orjson.loads(found.value)
        quota = quota_rules.compiled(key, object_)
        # The sum is as of this revision or later. Else, of two servers, one that lags would write an older sum over the newer
        # one that it has just read, the other would put that right, and so on without end.
        status = quota_rules.status(quota, await self._used(quota, found.revision))
        self._right[key] = status
        if object_.get("status") == status:
            return True
        value = object_codec.stored({**object_, "status": status})
        return not isinstance(await self._store.commit(contract.update(key, value, revision=found.revision)), Refused)
