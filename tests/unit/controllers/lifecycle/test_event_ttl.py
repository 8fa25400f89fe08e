"""Events go when nobody has written them for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api.ownership import Action, Outcome
from probate.controllers.lifecycle.event_ttl import EventLife
from probate.controllers.runtime.reconcile import Loop
from probate.core.aio import tasks
from probate.gc.backends.store.backend import World
from support.workload_cluster import EVENTS, NAMESPACE, Stage, name_of, staged

HOUR = 3600.0


@asynccontextmanager
async def ageing(stage: Stage, ttl: float = HOUR, world: World | None = None) -> AsyncIterator[EventLife]:
    """Events grow old meanwhile."""
    house, failures = stage.cluster, list[BaseException]()
    world = world or World(house.api)
    life = EventLife(world, house.clock, ttl, house.api.figures.registry)
    working = tasks.guard(Loop("events", life, world, house.clock).run(), name="events", on_failure=failures.append)
    await house.turns()
    try:
        yield life
    finally:
        await tasks.stop(working)
    assert not failures


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as one:
        yield one


async def tell(stage: Stage, name: str, **fields: Any) -> None:
    about = {"kind": "Pod", "name": "a", "namespace": NAMESPACE}
    await stage.client.create(EVENTS, NAMESPACE, {"metadata": {"name": name}, "involvedObject": about, **fields})
    await stage.cluster.turns()


async def wait(stage: Stage, seconds: float) -> None:
    await stage.cluster.clock.advance(seconds)
    await stage.cluster.turns(500)


async def names(stage: Stage) -> set[str]:
    return {name_of(one) for one in await stage.all(EVENTS)}


async def test_ev_1_an_event_lives_for_its_time_exactly(stage: Stage) -> None:
    """Not longer, as if it shared a lease of the store with others. (EV-2)"""
    async with ageing(stage):
        await tell(stage, "a")
        await wait(stage, 600)
        await tell(stage, "b")
        await wait(stage, HOUR - 600.1)
        assert await names(stage) == {"a", "b"}
        await wait(stage, 0.1)
        assert await names(stage) == {"b"}
        await wait(stage, 600)
        assert await names(stage) == set()


async def test_ev_1_an_event_that_is_written_again_lives_longer(stage: Stage) -> None:
    async with ageing(stage):
        await tell(stage, "a")
        await tell(stage, "b")
        await wait(stage, HOUR - 1)
        await stage.client.patch(EVENTS, NAMESPACE, "a", {"count": 2})
        await stage.cluster.turns()
        await wait(stage, 1)
        assert await names(stage) == {"a"}
        await wait(stage, HOUR - 2)
        assert await names(stage) == {"a"}
        await wait(stage, 1)
        assert await names(stage) == set()


async def test_ev_1_events_of_the_other_group_go_too(stage: Stage) -> None:
    async with ageing(stage, 10):
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
        assert (await stage.cluster.ask("POST", path, new)).code == 201
        await stage.cluster.turns()
        await wait(stage, 10)
        assert await names(stage) == set()


async def test_events_of_before_the_start_have_what_is_left_of_their_time(stage: Stage) -> None:
    await tell(stage, "old")
    await stage.cluster.clock.advance(HOUR - 10)
    await tell(stage, "young")
    async with ageing(stage):
        await wait(stage, 9)
        assert await names(stage) == {"old", "young"}
        await wait(stage, 1)
        assert await names(stage) == {"young"}


async def test_many_events_go_together_and_are_counted(stage: Stage) -> None:
    async with ageing(stage, 10):
        for number in range(30):
            await tell(stage, f"e{number}")
        before = await stage.cluster.store.revision()
        await wait(stage, 11)
        assert await names(stage) == set()
        assert await stage.cluster.store.revision() == before + 30
    shown = (await stage.cluster.ask("GET", "/metrics", accept="text/plain")).body.decode()
    assert "probate_events_expired_total 30.0" in shown


async def test_events_that_have_gone_are_remembered_by_nobody(stage: Stage) -> None:
    async with ageing(stage, 10) as life:
        for number in range(30):
            await tell(stage, f"e{number}")
        await wait(stage, 11)
        assert (len(life._ends), len(life._gone)) == (0, 0)
        world = life._world
        assert isinstance(world, World)
        assert not any(f"objects/events/{NAMESPACE}/e{number}" in world._read for number in range(30))


async def test_an_event_that_comes_again_when_it_has_just_gone_lives_for_its_time(stage: Stage) -> None:
    async with ageing(stage, 10):
        await tell(stage, "a")
        await stage.cluster.clock.advance(10)
        for _ in range(500):
            if not await names(stage):
                break
            await stage.cluster.turns(1)
        await tell(stage, "a")
        await wait(stage, 9)
        assert await names(stage) == {"a"}
        await wait(stage, 2)
        assert await names(stage) == set()


class Rivalled(World):
    """A world in which somebody writes each Event again when it is about to be deleted, once."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.cluster.api)
        self._stage: Stage | None = stage

    async def act(self, actions: Sequence[Action]) -> list[Outcome]:
        stage, self._stage = self._stage, None
        if stage is not None:
            for action in actions:
                await stage.client.patch(EVENTS, NAMESPACE, action.item.meta.name, {"count": 2})
            await stage.cluster.turns()
        return await super().act(actions)


async def test_an_event_that_is_written_while_it_is_deleted_lives_for_its_time(stage: Stage) -> None:
    async with ageing(stage, 10, Rivalled(stage)):
        await tell(stage, "a")
        await wait(stage, 10)
        assert await names(stage) == {"a"}
        await wait(stage, 9)
        assert await names(stage) == {"a"}
        await wait(stage, 1)
        assert await names(stage) == set()


async def test_ev_3_an_event_takes_no_part_in_collection(stage: Stage) -> None:
    await tell(stage, "a")
    for policy in ("Foreground", "Orphan"):
        await stage.client.delete(EVENTS, NAMESPACE, "a", policy=policy)
        assert await names(stage) == set()
        await tell(stage, "a")
