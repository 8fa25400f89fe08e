"""The server of `in_process` with the roles that every server has, asked by various people."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.server.bootstrap import rbac_roles
from support.in_process_server import House, Told, running
from support.virtual_time_server import Cluster, in_memory

RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Guarded(House):
    """One server. Who asks as nobody in particular may do anything."""

    async def ask_as(
        self, who: str, method: str, path: str, body: Any = None, *, groups: tuple[str, ...] = (), **more: Any
    ) -> Told:
        """As a user of this name. (Whoever asks may act as anybody.)"""
        headers = [(b"impersonate-user", who.encode()), *((b"impersonate-group", group.encode()) for group in groups)]
        return await self.ask(method, path, body, headers=[*headers, *more.pop("headers", ())], **more)

    async def grant(self, who: str, *rules: dict[str, Any], namespace: str = "") -> None:
        """Give a user these rules, in a namespace or everywhere."""
        scope, kind = (f"/namespaces/{namespace}/", "Role") if namespace else ("/cluster", "ClusterRole")
        name = f"{who}-{next(self.uids)}"
        role = await self.ask("POST", f"{RBAC}{scope}roles", {"metadata": {"name": name}, "rules": list(rules)})
        assert role.code == 201, role.body
        await self.bind(who, kind, name, namespace=namespace)

    async def bind(self, who: str, kind: str, role: str, *, namespace: str = "") -> Told:
        """Bind a role to a user."""
        scope = f"/namespaces/{namespace}/" if namespace else "/cluster"
        name = f"{who}-{next(self.uids)}"
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
        body = {"metadata": {"name": name}, "roleRef": reference, "subjects": [{"kind": "User", "name": who}]}
        told = await self.ask("POST", f"{RBAC}{scope}rolebindings", body)
        assert told.code == 201, told.body
        return told


class GuardedCluster(Guarded, Cluster):
    """The same with controllers, on a clock that the test moves."""


@asynccontextmanager
async def controlled(*names: str) -> AsyncGenerator[GuardedCluster, None]:
    """A server in memory, with namespaces a and b, its collector, and the controllers of these names."""
    async with in_memory(*names) as cluster:
        cluster.__class__ = GuardedCluster
        assert isinstance(cluster, GuardedCluster)
        for namespace in ("a", "b"):
            await cluster.create("namespaces", "", {"metadata": {"name": namespace}})
        await cluster.settle()
        yield cluster


@asynccontextmanager
async def guarded(clock: Clock | None = None, *, collects: bool = False) -> AsyncGenerator[Guarded, None]:
    """A server in memory, with namespaces a and b."""
    async with running(clock=clock, collects=collects) as house:
        house.__class__ = Guarded
        assert isinstance(house, Guarded)
        await rbac_roles.ensure_roles(house.api)
        failures: list[BaseException] = []
        following = tasks.guard(house.api.access.following.run(house.turns), name="grants", on_failure=failures.append)
        for namespace in ("a", "b"):
            await house.create("namespaces", "", {"metadata": {"name": namespace}})
        try:
            yield house
        finally:
            await tasks.stop(following)
    assert not failures
