"""VirtualTimeUser: a `VirtualTimeServer` as one of its users sees it, with the methods of the server itself.

The user is the administrator of a tenant, or an administrator of the server who is not a superuser: RBAC grants all rights to both.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from probate.api.rbac.users import AUTHENTICATED, User
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


class VirtualTimeUser:
    """Sends requests as the user. The clock is the server's."""

    def __init__(self, server: VirtualTimeServer, user: User, contexts: TenantContexts | None = None) -> None:
        self.settle, self.pass_time = server.settle, server.pass_time
        self._user = user
        self._door = copy.copy(server)
        self._door.app = App(server.api, authenticate=self._authenticate, tenants=contexts)

    async def request(self, method: str, path: str, body: Any = None, **options: Any) -> Response:
        return await self._door.request(method, path, body, **options)

    async def _authenticate(self, _: MutableMapping[str, Any]) -> User:
        return self._user


@asynccontextmanager
async def running_tenant(server: VirtualTimeServer) -> AsyncGenerator[VirtualTimeUser, None]:
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
        yield VirtualTimeUser(server, user_of(TENANT), contexts)


async def as_administrator(server: VirtualTimeServer) -> VirtualTimeUser:
    """Returns the server as a user sees it to whom RBAC grants all rights."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": "admin"}, "roleRef": role, "subjects": [{"kind": "User", "name": "admin"}]}
    assert (await server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)).code == 201
    return VirtualTimeUser(server, User("admin", (AUTHENTICATED,)))
