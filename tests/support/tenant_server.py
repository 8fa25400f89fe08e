"""The server of `in_process_server` with tenants: requests of their users are handled in their contexts.

async with running_with_tenants("111111") as server:
    await server.ask_as(ADMIN, "GET", "/api/v1/namespaces")        the tenant's namespaces
    await server.request("GET", "/api/v1/namespaces")              all namespaces, in the physical view
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import orjson

from probate.api import tenants
from probate.api.rbac.users import AUTHENTICATED, User
from probate.app import admission_plugins
from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.tenant_users import TenantUsers
from probate.store import contract
from probate.store.sqlite.store import open_memory
from probate.store.watch_hub import WatchBuffer
from probate.tenants import context_factory
from probate.tenants.context_factory import ContextFactory
from probate.tenants.per_tenant import PerTenant
from probate.tenants.quotas.tenant_quotas import TenantQuotas
from probate.tenants.tenant_contexts import TenantContexts
from support.in_process_server import Response
from support.rbac_server import RBAC, RbacServer, running_with_rbac

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"


def user_of(tenant: str, name: str = "admin", *groups: str) -> User:
    """Returns a user of a tenant, as authentication does."""
    return User(f"{tenant}-{name}", (*groups, AUTHENTICATED), tenant=tenant)


class Stream:
    """The response to a watch, as it arrives."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.task: asyncio.Task[None] | None = None

    @property
    def code(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def events(self) -> list[Any]:
        body = b"".join(message.get("body", b"") for message in self.messages)
        return [orjson.loads(line) for line in body.splitlines()]

    @property
    def is_over(self) -> bool:
        return self.task is not None and self.task.done()


class TenantServer(RbacServer):
    """One server with tenants. Requests of no particular user may do anything in the physical view."""

    clock: FakeClock
    users: TenantUsers
    per_tenant: PerTenant
    contexts: TenantContexts
    factory: ContextFactory
    quotas: TenantQuotas
    tenant_app: App

    async def create_tenant(self, tenant: str) -> str:
        """Creates a tenant with a namespace `web`, whose user `admin` may do anything in it. Returns its uid."""
        created = await self.request("POST", TENANTS, {"metadata": {"name": tenant}})
        assert created.code == 201, created.body
        prefix = tenants.prefix_of(tenant)
        await self.create("namespaces", "", {"metadata": {"name": f"{prefix}web"}})
        role = {"metadata": {"name": f"{prefix}cluster-admin"}, "rules": [_EVERYTHING, _EVERY_PATH]}
        assert (await self.request("POST", f"{RBAC}/clusterroles", role)).code == 201
        await self.bind_in_tenant(tenant, "cluster-admin", "admin")
        return str(created.json["metadata"]["uid"])

    async def bind_in_tenant(self, tenant: str, role: str, user: str) -> None:
        prefix = tenants.prefix_of(tenant)
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{prefix}{role}"}
        subjects = [{"kind": "User", "name": f"{prefix}{user}"}]
        binding = {"metadata": {"name": f"{prefix}{role}-{user}"}, "roleRef": reference, "subjects": subjects}
        assert (await self.request("POST", f"{RBAC}/clusterrolebindings", binding)).code == 201

    async def remove_tenant(self, tenant: str) -> None:
        """Removes a Tenant at once, with whatever finalizers it has."""
        await self.request("DELETE", f"{TENANTS}/{tenant}")
        current = await self.store.read(tenants.tenant_key(tenant))
        if current is not None:
            entries = [tenants.open_entry(tenant)]
            await self.store.commit(contract.delete(current.key, revision=current.revision, remove_entries=entries))

    async def ask(self, user: User, method: str, path: str, *, body: Any = None, **options: Any) -> Response:
        """Sends a request as a user, by the app that dispatches to tenants."""
        door = copy.copy(self)
        door.app, self.sender = self.tenant_app, user
        return await door.request(method, path, body, **options)

    async def create_crd(self, user: User | None, name: str, *, kind: str = "Foo", is_shared: bool = False) -> None:
        """Creates a CustomResourceDefinition, in the view of a tenant's user or in the physical view."""
        plural, _, group = name.partition(".")
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        spec = {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        }
        crd = {"metadata": {"name": name, "labels": {tenants.SHARED_LABEL: "true"} if is_shared else {}}, "spec": spec}
        asked = self.request("POST", CRDS, crd) if user is None else self.ask(user, "POST", CRDS, body=crd)
        assert (await asked).code == 201

    @asynccontextmanager
    async def watching(self, user: User, path: str, query: str = "watch=1") -> AsyncGenerator[Stream, None]:
        """Watches until the block ends."""
        stream, is_gone = Stream(), asyncio.Event()
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [],
            "client": None,
        }

        async def receive() -> dict[str, Any]:
            await is_gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            stream.messages.append(message)

        self.sender = user
        stream.task = asyncio.create_task(self.tenant_app(scope, receive, send))
        await self.yield_to_loop()
        try:
            yield stream
        finally:
            is_gone.set()
            await stream.task

    sender: User

    async def authenticate(self, _: MutableMapping[str, Any]) -> User:
        return self.sender


_EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_EVERY_PATH = {"nonResourceURLs": ["*"], "verbs": ["*"]}


@asynccontextmanager
async def running_with_tenants(
    *ids: str, clock: FakeClock | None = None, buffer: WatchBuffer | None = None, **options: Any
) -> AsyncGenerator[TenantServer, None]:
    """Runs a server in memory with these tenants. `options` are those of `running_with_rbac`."""
    clock = clock or FakeClock(1_800_000_000.0)
    store = await open_memory(buffer=buffer or WatchBuffer())
    accounts = TokenIssuer(store, clock)
    authenticator = RequestAuthenticator(clock, accounts)
    options = {"service_accounts": accounts, "authenticate_token": authenticator.authenticate_token, **options}
    async with running_with_rbac(clock, store=store, **options) as server:
        server.__class__ = TenantServer
        assert isinstance(server, TenantServer)
        server.users, server.per_tenant = TenantUsers(server.store), PerTenant()
        server.quotas = admission_plugins.install_tenant_quotas(server.api)
        server.factory = context_factory.new_factory(
            server.api, catalog.load(), install=admission_plugins.install, quotas=server.quotas
        )
        server.contexts = TenantContexts(server.api, lambda: server.factory, users=server.users, per_tenant=server.per_tenant)
        admission_plugins.install_tenant_admission(server.api, server.contexts)
        server.per_tenant.register(server.users.evict)
        server.tenant_app = App(server.api, authenticate=server.authenticate, tenants=server.contexts)
        async with server.quotas.following(), server.contexts.serving():
            for tenant in ids:
                await server.create_tenant(tenant)
            yield server


__all__ = ["CRDS", "TENANTS", "Stream", "TenantServer", "running_with_tenants", "user_of"]
