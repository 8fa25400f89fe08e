"""The deletion of a tenant is a matter of the platform: no webhook or policy of the tenant sees or stops it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from probate.api import tenants
from probate.controllers.manager import store_backend
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.namespaces.tenant_deletion import Tenants
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core.aio import tasks
from probate.server.storage import storage_keys
from support.tenant_server import TENANTS, TenantServer, running_with_tenants, user_of
from support.webhook_servers import configuration, deny, serving

ADMIN = user_of("111111")
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "scope": "*"}


@asynccontextmanager
async def deleting(server: TenantServer) -> AsyncIterator[None]:
    """Runs the controllers that delete tenants and namespaces."""
    backend = store_backend(server.api)
    scopes = [ScopeDeletion(scope, backend, server.clock) for scope in (Tenants(), Namespaces())]
    loops = [ChangeFeedLoop(f"scope {number}", one, backend, clock=server.clock) for number, one in enumerate(scopes)]
    running = [tasks.start_supervised(loop.run(), name="scope", on_failure=lambda _: None) for loop in loops]
    try:
        yield
    finally:
        await tasks.stop(*running)


async def test_tenant_with_denying_webhooks_is_deleted() -> None:
    async with running_with_tenants("111111", "222222") as server, serving(deny) as hook:
        quota = {"spec": {"quota": {"hard": {"count/configmaps": "1"}}}}
        await server.request("PATCH", f"{TENANTS}/111111", quota, media="application/merge-patch+json")
        await server.create("configmaps", "111111-web", {"metadata": {"name": "c"}})
        assert await server.store.read(storage_keys.tenant_quota_key("111111")) is not None
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            body = configuration(kind, hook.client, rules=[EVERYTHING])
            assert (await server.ask(ADMIN, "POST", f"{REGISTRATION}/{kind}", body=body)).code == 201
        refused = await server.request("DELETE", "/api/v1/namespaces/111111-web/configmaps/c")
        assert (refused.code, len(hook.reviews)) == (400, 1)
        async with deleting(server):
            assert (await server.request("DELETE", f"{TENANTS}/111111")).code in {200, 202}
            for _ in range(60):
                await server.yield_to_loop()
                if (await server.request("GET", f"{TENANTS}/111111")).code == 404:
                    break
                await server.clock.advance(1)
        assert (await server.request("GET", f"{TENANTS}/111111")).code == 404
        assert len(hook.reviews) == 1
        assert (await server.store.scan(tenants.content_range("111111"), limit=1)).records == []
        assert await server.store.read(storage_keys.tenant_quota_key("111111")) is None
