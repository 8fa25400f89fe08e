"""A tenant's user tries to keep the server from serving others: by objects that stop controllers, and by load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api.rbac.users import User
from probate.client.objects import GroupVersionResource
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.http.limit_log import LimitLog
from probate.http.memory_limits import MAX_SELECTORS_MEMORY, PARTS, MemoryShare
from probate.server.request_limits import RequestLimits
from probate.server.webhooks.endpoints import Endpoint, Unreachable
from probate.server.webhooks.https_client import MAX_AT_ONCE, MAX_POOLED_IN_ALL, Outbound
from support.stored_tenants import create_tenant
from support.tenant_server import TenantServer, running_with_tenants, user_of
from support.workload_cluster import WorkloadCluster, workload_cluster

ADMIN, VICTIM = user_of("111111"), user_of("222222")


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        yield one


def volume(name: str, **spec: Any) -> dict[str, Any]:
    about = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/v"}, "storageClassName": ""}
    return {"metadata": {"name": name}, "spec": {**about, **spec}}


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("volumes") as one:
        await create_tenant(one.server.store, "111111")
        namespaces = GroupVersionResource("", "v1", "namespaces")
        for name in ("111111-web", "plain"):
            await one.client.create(namespaces, "", {"metadata": {"name": name}})
        yield one


@pytest.mark.parametrize("claim", [{"name": "c"}, {"namespace": "111111-web"}, {"uid": "1-2"}, {"name": "c", "uid": "1-2"}])
async def test_malformed_volume_stopped_the_controllers_of_all(
    cluster: WorkloadCluster, claim: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    claim_ref = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claim}
    await cluster.client.create(PERSISTENT_VOLUMES, "", volume("111111-v", claimRef=claim_ref))
    await cluster.settle()
    await cluster.client.create(PERSISTENT_VOLUMES, "", volume("w"))
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, "plain", {"metadata": {"name": "c"}, "spec": spec})
    await cluster.settle()
    bound = await cluster.client.get(PERSISTENT_VOLUME_CLAIMS, "plain", "c")
    assert bound is not None
    assert (bound["spec"]["volumeName"], bound["status"]["phase"]) == ("w", "Bound")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_accounts_of_a_tenant_took_all_places() -> None:
    """A tenant makes as many accounts as it likes, and each is a user."""
    limits = RequestLimits(LimitLog(FakeClock()), max_connections=40, max_in_flight=30)

    async def idle() -> None:
        await asyncio.Event().wait()

    def admitted(user: User) -> bool:
        task = asyncio.create_task(idle())
        running.append(task)
        try:
            limits.begin(task, user, path="/api/v1/pods", address="")
        except errors.TooManyRequests:
            return False
        return True

    running: list[asyncio.Task[None]] = []
    assert sum(admitted(user_of("111111", f"robot{number}")) for number in range(40)) == 20
    assert all(admitted(user) for user in (VICTIM, User("ann"), User("111111-robot1")))
    await tasks.stop(*running)


class HookServer(asyncio.Protocol):
    """Sends `answer` for each request, and keeps its connections open."""

    def __init__(self, answer: bytes, connections: list[asyncio.Transport]) -> None:
        self._answer = answer
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._connections.append(transport)

    def data_received(self, data: bytes) -> None:
        self._connections[-1].write(self._answer)


async def test_watches_of_a_tenant_took_the_memory_of_others(server: TenantServer) -> None:
    own, other = [(await server.contexts.view(user)).context.selector_memory for user in (ADMIN, VICTIM)]
    share = MemoryShare(own)
    share.grow_to(MAX_SELECTORS_MEMORY // PARTS)
    with pytest.raises(errors.TooManyRequests):
        MemoryShare(own).grow_to(MAX_SELECTORS_MEMORY // 100)
    for budget in (other, server.api.selector_memory):
        MemoryShare(budget).grow_to(MAX_SELECTORS_MEMORY // PARTS)
    before = server.api.selector_memory.used
    share.release()
    assert (own.used, server.api.selector_memory.used) == (0, before - MAX_SELECTORS_MEMORY // PARTS)


@asynccontextmanager
async def listening(answer: bytes) -> AsyncGenerator[tuple[int, list[asyncio.Transport]], None]:
    """Runs a server, and yields its port and its connections."""
    connections: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(lambda: HookServer(answer, connections), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], connections
        for one in connections:
            one.abort()
        await asyncio.sleep(0)


async def test_webhook_calls_of_a_tenant_took_the_places_of_others(server: TenantServer) -> None:
    own, other = [(await server.contexts.view(user)).context.webhook_client for user in (ADMIN, VICTIM)]
    async with listening(b"") as (port, _):
        endpoint = Endpoint("http://hook", "127.0.0.1", port, "/", is_tls=False, name="hook", ca="")
        calls = [asyncio.create_task(own.post(endpoint, b"{}", seconds=30)) for _ in range(MAX_AT_ONCE)]
        await server.yield_to_loop(5)
        with pytest.raises(Unreachable, match="requests to this server are in progress"):
            await own.post(endpoint, b"{}", seconds=30)
        for client in (other, server.api.webhook_client):
            with pytest.raises(Unreachable, match="deadline"):
                await client.post(endpoint, b"{}", seconds=0.01)
        await tasks.stop(*calls)


async def test_servers_that_a_tenant_names_keep_connections_without_limit() -> None:
    client = Outbound()
    async with listening(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as (port, connections):
        for number in range(MAX_POOLED_IN_ALL + 20):
            await client.post(
                Endpoint("http://hook", "127.0.0.1", port, "/", is_tls=False, name=f"hook{number}", ca=""), b"{}", seconds=5
            )
        await asyncio.sleep(0.01)
        assert sum(not one.is_closing() for one in connections) <= MAX_POOLED_IN_ALL
        await client.close()
