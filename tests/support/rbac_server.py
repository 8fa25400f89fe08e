"""The server of `in_process_server` with the default RBAC roles, and requests as various users."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from probate.core.aio import tasks
from probate.core.clock import Clock
from support import bootstrap
from support.in_process_server import InProcessServer, Response, running
from support.virtual_time_server import VirtualTimeServer, in_memory

RBAC = "/apis/rbac.authorization.k8s.io/v1"


class RbacServer(InProcessServer):
    """One server. Requests of no particular user may do anything."""

    async def ask_as(
        self, user: str, method: str, path: str, *, body: Any = None, groups: tuple[str, ...] = (), **options: Any
    ) -> Response:
        """Sends a request as this user, by impersonation."""
        headers = [(b"impersonate-user", user.encode()), *((b"impersonate-group", group.encode()) for group in groups)]
        return await self.request(method, path, body, headers=[*headers, *options.pop("headers", ())], **options)

    async def grant(self, user: str, *rules: dict[str, Any], namespace: str = "") -> None:
        """Gives a user these rules, in a namespace or in the whole cluster."""
        scope, kind = (f"/namespaces/{namespace}/", "Role") if namespace else ("/cluster", "ClusterRole")
        name = f"{user}-{next(self.uids)}"
        role = await self.request("POST", f"{RBAC}{scope}roles", {"metadata": {"name": name}, "rules": list(rules)})
        assert role.code == 201, role.body
        await self.bind(user, kind, name, namespace=namespace)

    async def bind(self, user: str, kind: str, role: str, *, namespace: str = "") -> Response:
        """Binds a role to a user."""
        scope = f"/namespaces/{namespace}/" if namespace else "/cluster"
        name = f"{user}-{next(self.uids)}"
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
        body = {"metadata": {"name": name}, "roleRef": reference, "subjects": [{"kind": "User", "name": user}]}
        response = await self.request("POST", f"{RBAC}{scope}rolebindings", body)
        assert response.code == 201, response.body
        return response


class RbacCluster(RbacServer, VirtualTimeServer):
    """An `RbacServer` with controllers, on a virtual clock."""


@asynccontextmanager
async def rbac_cluster(*names: str) -> AsyncGenerator[RbacCluster, None]:
    """Runs a server in memory with namespaces a and b, its collector, and the controllers of these names."""
    async with in_memory(*names) as cluster:
        cluster.__class__ = RbacCluster
        assert isinstance(cluster, RbacCluster)
        for namespace in ("a", "b"):
            await cluster.create("namespaces", "", {"metadata": {"name": namespace}})
        await cluster.settle()
        yield cluster


@asynccontextmanager
async def running_with_rbac(
    clock: Clock | None = None, *, collects: bool = False, **options: Any
) -> AsyncGenerator[RbacServer, None]:
    """Runs a server in memory with namespaces a and b. `options` are those of `running`."""
    async with running(clock=clock, collects=collects, **options) as server:
        server.__class__ = RbacServer
        assert isinstance(server, RbacServer)
        await bootstrap.ensure_roles(server.api)
        failures: list[BaseException] = []
        watching = tasks.start_supervised(
            server.api.authorizer.cache.run(server.yield_to_loop), name="grants", on_failure=failures.append
        )
        for namespace in ("a", "b"):
            await server.create("namespaces", "", {"metadata": {"name": namespace}})
        try:
            yield server
        finally:
            await tasks.stop(watching)
    assert not failures
