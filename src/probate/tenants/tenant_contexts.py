"""TenantContexts: the contexts of the tenants that are in use.

A context starts with the first request of a tenant's user. Requests that come meanwhile wait for the same start. It stops when
there has been no request for five minutes and no watch is open, and when the tenant is gone. What all tenants need together, such
as the shared objects of the platform, is followed from the first start of any context on.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from probate.api import object_keys
from probate.api.rbac.users import User
from probate.api.tenants import TENANTS_RANGE
from probate.core import errors
from probate.core.aio import tasks
from probate.core.logs import facts
from probate.server.authn.tenant_users import TenantUsers
from probate.server.context import ServerContext
from probate.server.response import StreamingResponse
from probate.server.tenants.tenant_requests import TenantView
from probate.store.contract import Batch
from probate.tenants import running_context  # loaded late: `probate.app.startup`
from probate.tenants.per_tenant import PerTenant

if TYPE_CHECKING:
    from probate.tenants.context_factory import ContextFactory
    from probate.tenants.running_context import RunningContext

IDLE_SECONDS = 300.0
CHECK_SECONDS = 60.0
"""How often idle contexts are looked for."""
RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


class TenantContexts:
    """Implements `server.tenants.tenant_requests.TenantViews`, while `serving`. `make_factory` is called at the first start."""

    def __init__(
        self, physical: ServerContext, make_factory: Callable[[], ContextFactory], *, users: TenantUsers, per_tenant: PerTenant
    ) -> None:
        self._clock, self._store = physical.clock, physical.store
        self._make_factory = make_factory
        self._users = users
        self._per_tenant = per_tenant
        self._factory: ContextFactory | None = None
        self._loops: list[asyncio.Task[None]] = []
        self._running: dict[str, RunningContext] = {}
        self._starting: dict[str, asyncio.Task[RunningContext]] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._variables = contextvars.Context()  # the variables of the loops: not those of the request that starts a context
        self._listeners: list[Callable[[], None]] = []
        per_tenant.register(self.evict)

    def __len__(self) -> int:
        return len(self._running)

    def running(self, tenant: str) -> RunningContext | None:
        """Returns the context of a tenant, if it is running."""
        return self._running.get(tenant)

    async def started(self, tenant: str) -> RunningContext:
        """Returns the context of a tenant, starting it if it is not running. Raises `Unauthorized` if there is no such tenant."""
        running = self._running.get(tenant) or await self._started(tenant)
        running.last_used = self._clock.monotonic()
        return running

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Calls the listener whenever contexts have started or stopped."""
        self._listeners.append(listener)

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    async def view(self, user: User) -> TenantView:
        running = await self.started(user.tenant)
        return TenantView(running.context, running.user(user))

    def keep_open(self, tenant: str, response: StreamingResponse) -> StreamingResponse:
        running = self._running.get(tenant)
        return response if running is None else response._replace(chunks=running.counted(response.chunks))

    async def _started(self, tenant: str) -> RunningContext:
        """Starts the context, or waits for the start that is under way."""
        start = self._starting.get(tenant)
        if start is None:
            factory = self._factory or self._variables.run(self._begin)
            start = asyncio.create_task(self._start(factory, tenant), name=f"tenant {tenant}", context=self._variables.copy())
            self._starting[tenant] = start
        try:
            return await asyncio.shield(start)
        except asyncio.CancelledError:
            if start.cancelled():  # the tenant is gone, or the server stops
                raise errors.Unauthorized from None
            raise

    def _begin(self) -> ContextFactory:
        """Starts what all tenants need together."""
        self._factory = factory = self._make_factory()
        loops = {
            "shared objects": factory.platform.follow(self._pause),
            "deleted tenants": self._follow_deletions(),
            "idle tenants": self._stop_idle(),
        }
        for name, loop in loops.items():
            self._loops.append(tasks.start_supervised(loop, name=name, on_failure=functools.partial(_report, name)))
        return factory

    async def _start(self, factory: ContextFactory, tenant: str) -> RunningContext:
        running = running_context.RunningContext(factory, tenant)
        try:
            await running.start(functools.partial(self._on_failure, running))
            running.uid = await self._existing_uid(tenant)  # its deletion may have been seen before there was anything to evict
        except BaseException:
            await running.stop()
            raise
        else:
            self._running[tenant] = running
            self._notify()
            return running
        finally:
            if self._starting.get(tenant) is asyncio.current_task():
                del self._starting[tenant]

    async def _existing_uid(self, tenant: str) -> str:
        uid = await self._users.uid(tenant)
        if not uid:
            raise errors.Unauthorized
        return uid

    def _on_failure(self, running: RunningContext, loop: str, error: BaseException) -> None:
        """Drops a context if a loop of it has ended. The next request starts another one."""
        log.error("loop of a tenant's context ended", exc_info=error, extra=facts(tenant=running.tenant, loop=loop))
        if self._running.get(running.tenant) is running:
            self._stop_later(running.tenant)

    def _stop_later(self, tenant: str) -> None:
        task = asyncio.create_task(self._running.pop(tenant).stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        self._notify()

    async def evict(self, tenant: str) -> None:
        """Stops the context of a tenant, and ends its watches with 410 Gone."""
        if (start := self._starting.pop(tenant, None)) is not None:
            await tasks.stop(start)
        if (running := self._running.pop(tenant, None)) is not None:
            self._notify()
            await running.end()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Serves tenants until the context ends, then stops everything."""
        self._variables = contextvars.copy_context()
        try:
            yield
        finally:
            await tasks.stop(*self._loops, *self._starting.values())
            for tenant in tuple(self._running):
                self._stop_later(tenant)
            if self._stopping:
                await asyncio.wait(self._stopping)

    async def _stop_idle(self) -> None:
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            for tenant in [tenant for tenant, running in self._running.items() if running.is_idle(IDLE_SECONDS)]:
                self._stop_later(tenant)

    async def _follow_deletions(self) -> None:
        """Evicts each tenant whose Tenant is deleted. Never returns."""
        while True:
            try:
                async with self._store.watch(TENANTS_RANGE, after=await self._store.revision()) as changes:
                    await self._evict_gone()
                    async for batch in changes:
                        await self._evict_deleted(batch)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("watch of tenants failed, restarting", extra=facts(error=str(error)))
            await self._pause()

    async def _pause(self) -> None:
        await self._clock.sleep(RETRY_SECONDS)

    async def _evict_gone(self) -> None:
        """Evicts tenants that were deleted while nothing was watched, also if there is another one of the same id by now."""
        for tenant, running in tuple(self._running.items()):
            if await self._users.uid(tenant) != running.uid:
                await self._per_tenant.evict(tenant)

    async def _evict_deleted(self, batch: Batch) -> None:
        for event in batch:
            if event.value is None:
                await self._per_tenant.evict(object_keys.name_in(event.key))


def _report(loop: str, error: BaseException) -> None:
    log.error("background loop ended", exc_info=error, extra=facts(loop=loop))
