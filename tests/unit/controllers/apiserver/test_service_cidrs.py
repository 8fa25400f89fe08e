"""ServiceCIDRs are ready, and go when nobody has an address of theirs any more."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.controllers.apiserver.service_cidrs import ADDRESSES, RANGES
from probate.kinds.networking.service_cidrs import FINALIZER
from support.workload_cluster import Object, Stage, condition, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("serviceranges") as one:
        yield one


async def create(stage: Stage, name: str, *cidrs: str) -> None:
    await stage.client.create(RANGES, "", {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})
    await stage.settle()


async def take(stage: Stage, address: str) -> None:
    reference = {"resource": "services", "namespace": "default", "name": "s"}
    await stage.client.create(ADDRESSES, "", {"metadata": {"name": address}, "spec": {"parentRef": reference}})
    await stage.settle()


async def delete(stage: Stage, name: str) -> Object | None:
    await stage.client.delete(RANGES, "", name)
    await stage.settle()
    return await stage.client.get(RANGES, "", name)


async def test_a_new_one_is_held_and_ready(stage: Stage) -> None:
    await create(stage, "x", "10.200.0.0/24", "fd00::/112")
    found = await stage.client.get(RANGES, "", "x") or {}
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert condition(found, "Ready")["status"] == "True"


async def test_one_that_nobody_uses_goes(stage: Stage) -> None:
    await create(stage, "x", "10.200.0.0/24")
    await take(stage, "10.200.1.1")
    assert await delete(stage, "x") is None


async def test_one_of_which_somebody_has_an_address_waits(stage: Stage) -> None:
    await create(stage, "x", "10.200.0.0/24")
    await take(stage, "10.200.0.1")
    found = await delete(stage, "x") or {}
    assert (condition(found, "Ready")["status"], condition(found, "Ready")["reason"]) == ("False", "Terminating")
    await stage.client.delete(ADDRESSES, "", "10.200.0.1")
    await stage.settle()
    assert await stage.client.get(RANGES, "", "x") is None


async def test_an_address_that_another_range_has_too_holds_nobody(stage: Stage) -> None:
    await create(stage, "x", "10.200.0.0/24")
    await take(stage, "10.200.0.1")
    assert await delete(stage, "x") is not None
    await create(stage, "wider", "10.200.0.0/16")
    assert await stage.client.get(RANGES, "", "x") is None


async def test_the_range_of_the_server_stays(stage: Stage) -> None:
    await create(stage, "kubernetes", "10.96.0.0/12")
    assert await delete(stage, "kubernetes") is not None
