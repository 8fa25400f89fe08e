"""Events are deleted when they were not written for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api.ownership import Action, Outcome
from probate.controllers.lifecycle.event_ttl import EventTtl
from probate.controllers.manager import store_backend
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core.aio import tasks
from probate.gc.backends.store.store_backend import StoreBackend
from support.workload_cluster import EVENTS, NAMESPACE, WorkloadCluster, name_of, workload_cluster

HOUR = 3600.0


@asynccontextmanager
async def expiring(stage: WorkloadCluster, ttl: float = HOUR, backend: StoreBackend | None = None) -> AsyncIterator[EventTtl]:
    """Runs the controller."""
    house, failures = stage.server, list[BaseException]()
    backend = backend or store_backend(house.api)
    life = EventTtl(backend, house.clock, ttl, metrics=house.api.metrics.registry)
    working = tasks.start_supervised(
        ChangeFeedLoop("events", life, backend, clock=house.clock).run(), name="events", on_failure=failures.append
    )
    await house.yield_to_loop()
    try:
        yield life
    finally:
        await tasks.stop(working)
    assert not failures


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster() as one:
        yield one


async def tell(stage: WorkloadCluster, name: str, **fields: Any) -> None:
    about = {"kind": "Pod", "name": "a", "namespace": NAMESPACE}
    await stage.client.create(EVENTS, NAMESPACE, {"metadata": {"name": name}, "involvedObject": about, **fields})
    await stage.server.yield_to_loop()


async def wait(stage: WorkloadCluster, seconds: float) -> None:
    await stage.server.clock.advance(seconds)
    await stage.server.yield_to_loop(500)


async def names(stage: WorkloadCluster) -> set[str]:
    return {name_of(one) for one in await stage.all(EVENTS)}


async def test_ev_1_an_event_expires_exactly_after_its_ttl(stage: WorkloadCluster) -> None:
    """Not later, as on etcd, where Events share leases. (EV-2)"""
    async with expiring(stage):
        await tell(stage, "a")
        await wait(stage, 600)
        await tell(stage, "b")
        await wait(stage, HOUR - 600.1)
        assert await names(stage) == {"a", "b"}
        await wait(stage, 0.1)
        assert await names(stage) == {"b"}
        await wait(stage, 600)
        assert await names(stage) == set()


async def test_ev_1_a_write_restarts_the_ttl(stage: WorkloadCluster) -> None:
    async with expiring(stage):
        await tell(stage, "a")
        await tell(stage, "b")
        await wait(stage, HOUR - 1)
        await stage.client.patch(EVENTS, NAMESPACE, "a", change={"count": 2})
        await stage.server.yield_to_loop()
        await wait(stage, 1)
        assert await names(stage) == {"a"}
        await wait(stage, HOUR - 2)
        assert await names(stage) == {"a"}
        await wait(stage, 1)
        assert await names(stage) == set()


async def test_ev_1_events_of_the_other_group_expire_too(stage: WorkloadCluster) -> None:
    async with expiring(stage, 10):
        path = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
        new = {
            "metadata": {"name": "new"},
            "eventTime": "2023-11-14T22:13:20.000000Z",
            "reportingController": "x",
            "reportingInstance": "x",
            "action": "x",
            "reason": "x",
            "type": "Normal",
        }
        assert (await stage.server.request("POST", path, new)).code == 201
        await stage.server.yield_to_loop()
        await wait(stage, 10)
        assert await names(stage) == set()


async def test_events_from_before_the_start_have_what_is_left_of_their_ttl(stage: WorkloadCluster) -> None:
    await tell(stage, "old")
    await stage.server.clock.advance(HOUR - 10)
    await tell(stage, "young")
    async with expiring(stage):
        await wait(stage, 9)
        assert await names(stage) == {"old", "young"}
        await wait(stage, 1)
        assert await names(stage) == {"young"}


async def test_many_events_are_deleted_together_and_counted(stage: WorkloadCluster) -> None:
    async with expiring(stage, 10):
        for number in range(30):
            await tell(stage, f"e{number}")
        before = await stage.server.store.revision()
        await wait(stage, 11)
        assert await names(stage) == set()
        assert await stage.server.store.revision() == before + 30
    shown = (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()
    assert "probate_events_expired_total 30.0" in shown


async def test_deleted_events_leave_nothing_in_memory(stage: WorkloadCluster) -> None:
    async with expiring(stage, 10) as life:
        for number in range(30):
            await tell(stage, f"e{number}")
        await wait(stage, 11)
        assert (len(life._expirations), len(life._own_deletes)) == (0, 0)
        backend = life._backend
        assert isinstance(backend, StoreBackend)
        assert not any(f"objects/events/{NAMESPACE}/e{number}" in backend._items for number in range(30))


async def test_an_event_that_is_created_again_right_after_its_deletion_has_its_full_ttl(stage: WorkloadCluster) -> None:
    async with expiring(stage, 10):
        await tell(stage, "a")
        await stage.server.clock.advance(10)
        for _ in range(500):
            if not await names(stage):
                break
            await stage.server.yield_to_loop(1)
        await tell(stage, "a")
        await wait(stage, 9)
        assert await names(stage) == {"a"}
        await wait(stage, 2)
        assert await names(stage) == set()


class ConcurrentWriter(StoreBackend):
    """A backend in which a client writes each Event again when it is about to be deleted, once."""

    def __init__(self, stage: WorkloadCluster) -> None:
        vars(self).update(vars(store_backend(stage.server.api)))
        self._stage: WorkloadCluster | None = stage

    async def execute(self, actions: Sequence[Action]) -> list[Outcome]:
        stage, self._stage = self._stage, None
        if stage is not None:
            for action in actions:
                await stage.client.patch(EVENTS, NAMESPACE, action.item.meta.name, change={"count": 2})
            await stage.server.yield_to_loop()
        return await super().execute(actions)


async def test_an_event_that_is_written_while_it_is_deleted_has_its_full_ttl(stage: WorkloadCluster) -> None:
    async with expiring(stage, 10, ConcurrentWriter(stage)):
        await tell(stage, "a")
        await wait(stage, 10)
        assert await names(stage) == {"a"}
        await wait(stage, 9)
        assert await names(stage) == {"a"}
        await wait(stage, 1)
        assert await names(stage) == set()


async def test_ev_3_events_have_no_part_in_garbage_collection(stage: WorkloadCluster) -> None:
    await tell(stage, "a")
    for policy in ("Foreground", "Orphan"):
        await stage.client.delete(EVENTS, NAMESPACE, "a", policy=policy)
        assert await names(stage) == set()
        await tell(stage, "a")
