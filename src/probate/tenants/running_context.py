"""RunningContext: the context of one tenant, with the loops that follow what configures it.

It starts when the tenant is first used: it reads the tenant's roles, CRDs and admission configuration, and follows their changes
until it is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from probate.api.rbac.users import User
from probate.core import errors
from probate.core.aio import tasks
from probate.tenants import identity
from probate.tenants.admission import other_view
from probate.tenants.admission.other_chain import OtherChain
from probate.tenants.context_factory import ContextFactory

MAX_USERS = 1_000
"""Limits the users whose names in the view are cached."""
RETRY_SECONDS = 1.0

Report = Callable[[str, BaseException], None]
"""Called with the name of a loop that has ended, and the reason."""


class RunningContext:
    """The context of a tenant. `last_used` is when the last request began, by the monotonic clock."""

    def __init__(self, factory: ContextFactory, tenant: str) -> None:
        self.tenant = tenant
        self.uid = ""  # of the tenant, once it is started
        self.context, self._store = factory.make(tenant)
        self.last_used = self.context.clock.monotonic()
        self.streams = 0  # responses that are still running
        self._install = factory.install
        self._loops: list[asyncio.Task[None]] = []
        self._users: dict[User, User] = {}

    async def start(self, report: Report) -> None:
        """Reads what configures the context and follows it. If that fails, the caller stops the context."""
        context = self.context
        self._run("grants", context.authorizer.cache.run(self._pause), report)
        await context.kinds.refresh(now=context.timestamp())
        await self._install(context)
        self._run("custom kinds", context.kinds.watch_crds(context.timestamp, self._pause), report)
        self._run("admission", context.admission.configuration.watch(self._pause), report)

    def _run(self, name: str, loop: Coroutine[Any, Any, None], report: Report) -> None:
        self._loops.append(tasks.start_supervised(loop, name=name, on_failure=lambda error: report(name, error)))

    async def _pause(self) -> None:
        await self.context.clock.sleep(RETRY_SECONDS)

    def chain(self) -> OtherChain:
        """Returns the admission chain of the tenant, for writes of the tenant's objects in the physical view."""
        context = self.context
        view = other_view.of_tenant(self._store.converter, context.catalog)
        return OtherChain(context.admission.chain, view, context.offloader)

    def user(self, user: User) -> User:
        """Returns a user of the tenant as the tenant names it: the same object each time, as it is looked up by its identity."""
        found = self._users.get(user)
        if found is None:
            if len(self._users) >= MAX_USERS:
                self._users.clear()
            found = self._users[user] = identity.in_tenant_view(user)
        return found

    async def counted(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yields the chunks of a response that runs until it is closed."""
        self.streams += 1
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        finally:
            self.streams -= 1
            self.last_used = self.context.clock.monotonic()

    def is_idle(self, seconds: float) -> bool:
        """Returns whether there has been no request for this time, and no response is running."""
        return not self.streams and self.context.clock.monotonic() - self.last_used >= seconds

    async def stop(self) -> None:
        """Ends the loops and all watches, and frees what the context holds."""
        await self._end(errors.StoreUnavailable("the server has stopped serving this tenant for now: try again"))

    async def end(self) -> None:
        """Stops, and ends all watches with 410: the tenant is gone."""
        await self._end(errors.Gone("tenant deleted"))

    async def _end(self, error: errors.ApiError) -> None:
        loops, self._loops = self._loops, []
        await tasks.stop(*loops)
        self._store.end(error)
        await self.context.close()
        for cache in (self.context.discovery_cache, self.context.openapi_cache):
            cache.drop(self.context.kinds)
