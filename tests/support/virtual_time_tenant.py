"""VirtualTimeTenant: a tenant of a `VirtualTimeServer`, as its administrator sees it, with the methods of the server itself."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from probate.app import admission_plugins
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.authn.tenant_users import TenantUsers
from probate.tenants import context_factory
from probate.tenants.per_tenant import PerTenant
from probate.tenants.tenant_contexts import TenantContexts
from support.in_process_server import Response
from support.tenant_server import TENANTS, user_of
from support.virtual_time_server import VirtualTimeServer

TENANT = "team01"


class VirtualTimeTenant:
    """Sends requests as the tenant's administrator. The clock is the server's."""

    def __init__(self, server: VirtualTimeServer, contexts: TenantContexts) -> None:
        self.settle, self.pass_time = server.settle, server.pass_time
        self._door = copy.copy(server)
        self._door.app = App(server.api, authenticate=self._authenticate, tenants=contexts)

    async def request(self, method: str, path: str, body: Any = None, **options: Any) -> Response:
        return await self._door.request(method, path, body, **options)

    async def _authenticate(self, _: MutableMapping[str, Any]) -> Any:
        return user_of(TENANT)


@asynccontextmanager
async def running_tenant(server: VirtualTimeServer) -> AsyncGenerator[VirtualTimeTenant, None]:
    """Creates a tenant, which the tenant-controller completes."""
    users, per_tenant = TenantUsers(server.store), PerTenant()
    quotas = admission_plugins.install_tenant_quotas(server.api)
    factory = context_factory.new_factory(server.api, catalog.load(), install=admission_plugins.install, quotas=quotas)
    contexts = TenantContexts(server.api, lambda: factory, users=users, per_tenant=per_tenant)
    admission_plugins.install_tenant_admission(server.api, contexts)
    async with quotas.following(), contexts.serving():
        assert (await server.request("POST", TENANTS, {"metadata": {"name": TENANT}})).code == 201
        await server.settle()
        created = (await server.request("GET", f"{TENANTS}/{TENANT}")).json
        assert created["status"]["phase"] == "Active", created
        yield VirtualTimeTenant(server, contexts)
