"""Contexts of tenants start when they are used, and stop when they are idle or their tenant is gone."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.users import User
from probate.server.context import ServerContext
from probate.tenants import tenant_contexts
from support.tenant_server import TenantServer, running_with_tenants, user_of

ADMIN, OTHER = user_of("111111"), user_of("222222")
CONFIG_MAPS = "/api/v1/namespaces/web/configmaps"


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        yield one


async def names(server: TenantServer, user: User, path: str) -> list[str]:
    response = await server.ask(user, "GET", path)
    assert response.code == 200, response.body
    return sorted(one["metadata"]["name"] for one in response.json["items"])


class TestLife:
    """When contexts start and stop."""

    async def test_requests_at_the_same_time_share_one_start(self, server: TenantServer) -> None:
        server.sender = ADMIN
        made: list[str] = []
        make = server.factory.make
        server.factory.make = lambda tenant: (made.append(tenant), make(tenant))[1]  # type: ignore[method-assign,func-returns-value]
        assert len(server.contexts) == 0
        views = await asyncio.gather(*(server.contexts.view(ADMIN) for _ in range(10)))
        assert (len({id(context) for context, _ in views}), made, len(server.contexts)) == (1, ["111111"], 1)

    async def test_context_of_a_waiting_request_starts_although_another_one_is_cancelled(self, server: TenantServer) -> None:
        first, second = (asyncio.create_task(server.contexts.view(ADMIN)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).user.name == "admin"

    async def test_idle_context_stops_and_starts_again(self, server: TenantServer) -> None:
        await server.ask(ADMIN, "POST", CONFIG_MAPS, body={"metadata": {"name": "c"}})
        await server.clock.advance(tenant_contexts.IDLE_SECONDS - tenant_contexts.CHECK_SECONDS)
        assert await names(server, ADMIN, CONFIG_MAPS) == ["c"]
        await server.clock.advance(tenant_contexts.IDLE_SECONDS - tenant_contexts.CHECK_SECONDS)
        assert len(server.contexts) == 1
        await server.clock.advance(2 * tenant_contexts.CHECK_SECONDS)
        assert len(server.contexts) == 0
        assert await names(server, ADMIN, CONFIG_MAPS) == ["c"]

    async def test_open_watch_keeps_its_context(self, server: TenantServer) -> None:
        async with server.watching(ADMIN, CONFIG_MAPS) as stream:
            await server.clock.advance(3 * tenant_contexts.IDLE_SECONDS)
            assert len(server.contexts) == 1
            await server.create("configmaps", "111111-web", {"metadata": {"name": "c"}})
            await server.yield_to_loop()
            assert [(one["type"], one["object"]["metadata"]["namespace"]) for one in stream.events] == [("ADDED", "web")]
        await server.clock.advance(2 * tenant_contexts.IDLE_SECONDS)
        assert len(server.contexts) == 0

    async def test_watches_of_a_deleted_tenant_end_with_410(self, server: TenantServer) -> None:
        async with server.watching(ADMIN, CONFIG_MAPS) as stream, server.watching(OTHER, CONFIG_MAPS) as other:
            await server.remove_tenant("111111")
            await server.yield_to_loop()
            assert (stream.is_over, len(server.contexts)) == (True, 1)
            status = stream.events[-1]
            assert (status["type"], status["object"]["code"], status["object"]["reason"]) == ("ERROR", 410, "Expired")
            assert status["object"]["message"] == "tenant deleted"
            assert not other.is_over
            await server.create("configmaps", "222222-web", {"metadata": {"name": "c"}})
            await server.yield_to_loop()
            assert [one["type"] for one in other.events] == ["ADDED"]
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 401

    async def test_nothing_of_a_deleted_tenant_is_kept(self, server: TenantServer) -> None:
        evicted: list[str] = []

        async def evict(tenant: str) -> None:
            evicted.append(tenant)

        server.per_tenant.register(evict)
        await server.create_crd(ADMIN, "foos.a.com")
        async with server.watching(ADMIN, CONFIG_MAPS):
            for path in ("/apis", "/openapi/v3"):
                assert (await server.ask(ADMIN, "GET", path, accept=_AGGREGATED)).code == 200
            context = weakref.ref((await server.contexts.view(ADMIN)).context)
            tasks = len(asyncio.all_tasks())
            await server.remove_tenant("111111")
            await server.yield_to_loop()
        gc.collect()
        assert (evicted, len(server.contexts), context()) == (["111111"], 0, None)
        assert len(asyncio.all_tasks()) < tasks - 15
        assert not server.api.openapi_cache
        assert not server.api.discovery_cache

    async def test_tenant_that_is_gone_before_its_context_has_started_is_nobodys(self, server: TenantServer) -> None:
        install = server.factory.install

        async def remove_meanwhile(context: ServerContext) -> None:
            await install(context)
            await server.remove_tenant("111111")
            await server.yield_to_loop()

        server.factory.install = remove_meanwhile
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 401
        await server.yield_to_loop()
        assert len(server.contexts) == 0

    async def test_failed_start_is_tried_again(self, server: TenantServer) -> None:
        install = server.factory.install

        async def fail(_: Any) -> None:
            raise RuntimeError("no")

        server.factory.install = fail
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 500
        server.factory.install = install
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 200


_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_everything_stops_with_the_server() -> None:
    before = asyncio.all_tasks()
    async with running_with_tenants("111111", "222222") as server:
        await server.ask(ADMIN, "GET", CONFIG_MAPS)
        start = asyncio.create_task(server.contexts.view(OTHER))
        await asyncio.sleep(0)
        async with server.watching(ADMIN, CONFIG_MAPS):
            pass
    await asyncio.wait([start])
    assert asyncio.all_tasks() <= before
