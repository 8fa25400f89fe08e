"""Leader election, on an in-process API and a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from probate.api.objects import Object
from probate.client.objects import Client, GroupVersionResource
from probate.controllers.runtime.leader_election import (
    DURATION_SECONDS,
    LEASES,
    MAX_UNREACHABLE_SECONDS,
    RENEW_SECONDS,
    LeaderElection,
)
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.server.local_transport import LocalTransport
from support.in_process_server import InProcessServer, running


class SlowClient(Client):
    """A client that gets no responses while `is_held`."""

    def __init__(self, house: InProcessServer, clock: FakeClock) -> None:
        super().__init__(LocalTransport(house.api))
        self._clock = clock
        self.is_held_up = False

    async def get(self, kind: GroupVersionResource, namespace: str, name: str) -> Object | None:
        while self.is_held_up:
            await self._clock.sleep(0.05)
        return await super().get(kind, namespace, name)


class Candidate:
    def __init__(self, house: InProcessServer, clock: FakeClock, name: str) -> None:
        self.client = SlowClient(house, clock)
        self.leadership = LeaderElection(self.client, clock, name)
        self._is_working = False
        self.task = tasks.start_supervised(self.leadership.run(self.work), name=name, on_failure=lambda error: None)

    @asynccontextmanager
    async def work(self) -> AsyncGenerator[None, None]:
        self._is_working = True
        try:
            yield
        finally:
            self._is_working = False

    def works(self) -> bool:
        return self._is_working


async def until_it_works(candidate: Candidate) -> None:
    """Blocks until the candidate leads, while the clock stands still."""
    async with asyncio.timeout(30):
        while not candidate.works():  # noqa: ASYNC110 nobody tells
            await asyncio.sleep(0)


async def test_lease_of_a_killed_holder_was_taken_over_only_after_fifteen_seconds() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(RENEW_SECONDS)
        two = Candidate(house, clock, "two")
        await clock.advance(60.0)
        assert (one.works(), two.works()) == (True, False)
        await tasks.stop(one.task)
        await clock.advance(DURATION_SECONDS - 2 * RENEW_SECONDS)
        assert not two.works(), "the first may still be at work: its lease has not run out"
        await clock.advance(2 * RENEW_SECONDS)
        await until_it_works(two)
        lease = await two.client.get(LEASES, "kube-system", "probate")
        assert lease is not None
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("two", 1)
        await tasks.stop(two.task)
    assert DURATION_SECONDS <= 3


async def test_holder_that_was_merely_busy_continues_if_no_other_has_taken_the_lease() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(RENEW_SECONDS)
        clock._now += 100 * MAX_UNREACHABLE_SECONDS  # what the process slept through
        await clock.advance(RENEW_SECONDS)
        assert one.works()
        await tasks.stop(one.task)


async def test_holder_stops_if_another_took_the_lease_meanwhile() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(RENEW_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        leader.client.is_held_up = True
        await clock.advance(2 * DURATION_SECONDS)
        assert (leader.works(), other.works()) == (True, True)  # which does no harm
        leader.client.is_held_up = False
        await clock.advance(2 * RENEW_SECONDS)
        assert (leader.works(), other.works()) == (False, True)
        await tasks.stop(one.task, two.task)


async def test_holder_that_cannot_reach_the_store_stops_after_a_while() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(RENEW_SECONDS)
        assert one.works()
        await house.store.close()  # nothing can be read or written any more
        await clock.advance(MAX_UNREACHABLE_SECONDS + RENEW_SECONDS)
        assert not one.works()
        await tasks.stop(one.task)


async def test_holder_whose_lease_was_taken_stops_at_once() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(RENEW_SECONDS)
        await one.client.patch(LEASES, "kube-system", "probate", change={"spec": {"holderIdentity": "somebody else"}})
        await clock.advance(RENEW_SECONDS)
        assert not one.works()
        await tasks.stop(one.task)


async def test_released_lease_is_taken_at_once() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(RENEW_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        await tasks.stop(leader.task)
        before = clock.now()
        await leader.leadership.resign()
        await until_it_works(other)
        assert clock.now() == before
        await tasks.stop(other.task)


async def test_holder_keeps_the_lease_when_the_store_stalled_for_all() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(RENEW_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        one.client.is_held_up = two.client.is_held_up = True
        await clock.advance(DURATION_SECONDS + 1.0)
        other.client.is_held_up = False  # who is the first to be answered does not matter
        await clock.advance(0.1)
        leader.client.is_held_up = False
        await clock.advance(10.0)
        assert (leader.works(), other.works()) == (True, False)
        await tasks.stop(one.task, two.task)
