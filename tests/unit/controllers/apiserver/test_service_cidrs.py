"""ServiceCIDRs are ready, and are released when no IPAddress needs them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.api.objects import Object
from probate.controllers.apiserver.service_cidrs import IP_ADDRESSES, SERVICE_CIDRS
from probate.kinds.networking.service_cidrs import FINALIZER
from support.workload_cluster import WorkloadCluster, condition, workload_cluster


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("serviceranges") as one:
        yield one


async def create(stage: WorkloadCluster, name: str, *cidrs: str) -> None:
    await stage.client.create(SERVICE_CIDRS, "", {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})
    await stage.settle()


async def take(stage: WorkloadCluster, address: str) -> None:
    reference = {"resource": "services", "namespace": "default", "name": "s"}
    await stage.client.create(IP_ADDRESSES, "", {"metadata": {"name": address}, "spec": {"parentRef": reference}})
    await stage.settle()


async def delete(stage: WorkloadCluster, name: str) -> Object | None:
    await stage.client.delete(SERVICE_CIDRS, "", name)
    await stage.settle()
    return await stage.client.get(SERVICE_CIDRS, "", name)


async def test_a_new_one_has_the_finalizer_and_is_ready(stage: WorkloadCluster) -> None:
    await create(stage, "x", "10.200.0.0/24", "fd00::/112")
    found = await stage.client.get(SERVICE_CIDRS, "", "x") or {}
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert condition(found, "Ready")["status"] == "True"


async def test_an_unused_one_is_removed(stage: WorkloadCluster) -> None:
    await create(stage, "x", "10.200.0.0/24")
    await take(stage, "10.200.1.1")
    assert await delete(stage, "x") is None


async def test_one_with_an_address_in_use_waits(stage: WorkloadCluster) -> None:
    await create(stage, "x", "10.200.0.0/24")
    await take(stage, "10.200.0.1")
    found = await delete(stage, "x") or {}
    assert (condition(found, "Ready")["status"], condition(found, "Ready")["reason"]) == ("False", "Terminating")
    await stage.client.delete(IP_ADDRESSES, "", "10.200.0.1")
    await stage.settle()
    assert await stage.client.get(SERVICE_CIDRS, "", "x") is None


async def test_an_address_that_another_one_contains_too_does_not_hold_it(stage: WorkloadCluster) -> None:
    await create(stage, "x", "10.200.0.0/24")
    await take(stage, "10.200.0.1")
    assert await delete(stage, "x") is not None
    await create(stage, "wider", "10.200.0.0/16")
    assert await stage.client.get(SERVICE_CIDRS, "", "x") is None


async def test_the_default_one_stays(stage: WorkloadCluster) -> None:
    await create(stage, "kubernetes", "10.96.0.0/12")
    assert await delete(stage, "kubernetes") is not None
