"""A server with tenants and the controllers that delete what tenants, namespaces and CRDs contain, in real time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from probate.controllers.manager import store_backend
from probate.controllers.namespaces.crd_deletion import CustomResourceDefinitions
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.namespaces.tenant_deletion import Tenants
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core.aio import tasks
from probate.core.clock import SystemClock
from probate.store.watch_hub import WatchBuffer
from support.tenant_server import TENANTS, TenantServer, running_with_tenants

SECONDS = 60.0
_FOLDER = "objects/tenants.tenant.kubezoo.io/-/"


@asynccontextmanager
async def serving(*ids: str, events: int = 20_000) -> AsyncGenerator[TenantServer, None]:
    """Runs a server with these tenants, which keeps so many events for its watches."""
    buffer = WatchBuffer(events=events)
    async with running_with_tenants(*ids, clock=SystemClock(), buffer=buffer) as server:  # type: ignore[arg-type]
        backend = store_backend(server.api)
        scopes = [ScopeDeletion(kind, backend, server.clock) for kind in (Tenants(), Namespaces(), CustomResourceDefinitions())]
        loops = [ChangeFeedLoop(f"scope {number}", one, backend, clock=server.clock) for number, one in enumerate(scopes)]
        failures: list[BaseException] = []

        async def pause() -> None:
            await server.clock.sleep(1)

        running = [
            tasks.start_supervised(
                server.api.kinds.watch_crds(server.api.timestamp, pause), name="custom kinds", on_failure=failures.append
            )
        ]
        running += [tasks.start_supervised(loop.run(), name="scope", on_failure=failures.append) for loop in loops]
        try:
            yield server
        finally:
            await tasks.stop(*running)
        assert not failures, failures


async def delete_tenant(server: TenantServer, tenant: str) -> None:
    """Deletes a tenant, and waits until it is gone."""
    async with server.store.watch(_FOLDER, after=await server.store.revision()) as changes:
        assert (await server.request("DELETE", f"{TENANTS}/{tenant}")).code == 200
        async with asyncio.timeout(SECONDS):
            async for batch in changes:
                if any(event.value is None and event.key == f"{_FOLDER}{tenant}" for event in batch):
                    return


def cached_of(server: TenantServer, tenant: str) -> list[object]:
    """Returns what the server keeps in memory of a tenant, as far as it is kept by tenant."""
    contexts, users = server.contexts, server.users
    found: list[object] = [one for one in (contexts._running, contexts._starting, users._uids) if tenant in one]
    return found + [name for name in users._owners if name.startswith(f"{tenant}-")]


async def wait_until_evicted(server: TenantServer, tenant: str) -> None:
    async with asyncio.timeout(SECONDS):
        while cached_of(server, tenant):  # noqa: ASYNC110 - what is waited for are tasks of the server
            await asyncio.sleep(0)
