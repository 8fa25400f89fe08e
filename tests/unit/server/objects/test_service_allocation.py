"""Service allocation from ranges so small that they run out."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator

import httpx
import pytest

from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.kinds.core.services import allocation_pools
from probate.server.app import App
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.sqlite.store import open_memory
from support import bootstrap

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = {f"10.0.0.{number}" for number in range(1, 63)}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    store = await open_memory()
    small = allocation_pools.Pools(allocation_pools.addresses("10.0.0.0/26"), allocation_pools.node_ports(30000, 30063))
    chance = random.Random(1)  # noqa: S311
    api = ServerContext(
        store,
        KindRegistry(store, catalog.load()),
        FakeClock(),
        new_uid=lambda: str(uuid.uuid4()),
        random=chance,
        service_pools=small,
    )
    await bootstrap.ensure_namespaces(api)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(App(api)), base_url="http://test") as client:
        yield client
    await store.close()


async def create(client: httpx.AsyncClient, name: str, **spec: object) -> httpx.Response:
    return await client.post(SERVICES, json={"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}})


async def test_every_address_is_allocated_once_and_the_static_band_last(client: httpx.AsyncClient) -> None:
    given = [(await create(client, f"s{number}")).json()["spec"]["clusterIP"] for number in range(62)]
    assert set(given) == ADDRESSES
    assert {int(address.rpartition(".")[2]) > 16 for address in given[:46]} == {True}
    full = await create(client, "late")
    assert (full.status_code, full.json()["reason"]) == (507, "InsufficientStorage")
    assert "range is full" in full.json()["message"]
    assert (await client.delete(f"{SERVICES}/s7")).status_code == 200
    assert (await create(client, "late")).json()["spec"]["clusterIP"] == given[7]


async def test_services_that_race_for_the_last_addresses_get_different_addresses(client: httpx.AsyncClient) -> None:
    for number in range(58):
        assert (await create(client, f"s{number}")).status_code == 201
    answers = await asyncio.gather(*(create(client, f"late{number}") for number in range(4)))
    assert [answer.status_code for answer in answers] == [201] * 4
    assert len({answer.json()["spec"]["clusterIP"] for answer in answers}) == 4


async def test_node_ports_run_out(client: httpx.AsyncClient) -> None:
    ports = [{"name": f"p{number}", "port": number} for number in range(1, 65)]
    spec = (await create(client, "all", type="NodePort", ports=ports)).json()["spec"]
    assert {port["nodePort"] for port in spec["ports"]} == set(range(30000, 30064))
    full = await create(client, "late", type="NodePort")
    assert (full.status_code, "range is full" in full.json()["message"]) == (507, True)
