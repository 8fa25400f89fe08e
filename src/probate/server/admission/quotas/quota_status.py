"""Writes the status of ResourceQuotas: hard limits and usage. Repairs what other clients write there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import orjson

from probate.api.objects import Object
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.kinds.core.quota import quota_rules
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.shared.quantity_sums import Amounts
from probate.server.codec import object_codec
from probate.store import contract
from probate.store.contract import FailedGuards, Store

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0


class QuotaObjects(Protocol):
    """Where the objects that have quotas say what is limited, and how much is used."""

    def quota(self, key: str, object_: Object) -> Quota | None:
        """Returns the quota of an object; None if it has none."""
        ...

    def with_status(self, object_: Object, status: Object | None) -> Object:
        """Returns the object with the status of its quota; without one if it has no quota."""
        ...


class ResourceQuotaObjects:
    """ResourceQuotas: their status is that of the quota."""

    def quota(self, key: str, object_: Object) -> Quota | None:
        return quota_rules.compile_quota(key, object_)

    def with_status(self, object_: Object, status: Object | None) -> Object:
        return {**object_, "status": status}


class QuotaStatusWriter:
    """Writes the status of quotas whose usage has changed, one at a time. Frequent changes of one quota are written together."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        used: Callable[[Quota, int], Awaitable[Amounts]],
        *,
        objects: QuotaObjects | None = None,
    ) -> None:
        self._objects = objects or ResourceQuotaObjects()
        self._store = store
        self._clock = clock
        self._used = used
        self._pending: dict[str, None] = {}
        self._written: dict[str, Object | None] = {}  # the status of each quota when last written or found correct, by key
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def schedule(self, key: str) -> None:
        """Schedules writing the status of the quota at this key."""
        self._pending[key] = None
        self._changed.set()
        if self._task is None:
            message = "quota status writer failed, statuses are no longer updated"
            self._task = tasks.start_supervised(
                self._run(), name="quota statuses", on_failure=lambda error: log.error(message, exc_info=error)
            )

    def repair(self, quotas: dict[str, Object]) -> None:
        """Schedules the quotas, given by key, whose status was not written by this server."""
        self._written = {key: status for key, status in self._written.items() if key in quotas}
        for key, quota in quotas.items():
            if key not in self._written or quota.get("status") != self._written[key]:
                self.schedule(key)

    async def close(self) -> None:
        """Stops writing."""
        if self._task is not None:
            await tasks.stop(self._task)
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._pending:
                key = next(iter(self._pending))
                del self._pending[key]
                await self._write_or_retry(key)

    async def _write_or_retry(self, key: str) -> None:
        try:
            if not await self._write(key):
                self.schedule(key)
        except errors.ApiError as error:
            log.warning("cannot write quota status, retrying", extra=facts(key=key, error=str(error)))
            await self._clock.sleep(PAUSE_SECONDS)
            self.schedule(key)

    async def _write(self, key: str) -> bool:
        """Returns whether the quota's status is correct now, or the quota is gone. False if another writer was faster."""
        record = await self._store.read(key)
        if record is None:
            return True
        object_ = orjson.loads(record.value)
        quota = self._objects.quota(key, object_)
        # The usage is as of this revision or later. Otherwise, of two servers, one that lags would overwrite the status that it has
        # just read with an older usage, the other server would correct that, and so on without end.
        status = None if quota is None else quota_rules.status(quota, await self._used(quota, record.revision))
        self._written[key] = status
        written = self._objects.with_status(object_, status)
        if written == object_:
            return True
        value = object_codec.stored(written)
        return not isinstance(await self._store.commit(contract.update(key, value, revision=record.revision)), FailedGuards)
