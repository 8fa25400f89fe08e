"""Leadership by Lease, on the API in the test's own process and on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from probate.client.objects import Client, Kind, Object
from probate.controllers.runtime.leader_election import DURATION_SECONDS, EVERY_SECONDS, LEASES, PATIENCE_SECONDS, Leadership
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.server.local_transport import Local
from support.in_process_server import House, running


class SlowClient(Client):
    """Gets no answers while it is held up."""

    def __init__(self, house: House, clock: FakeClock) -> None:
        super().__init__(Local(house.api))
        self._clock = clock
        self.is_held_up = False

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        while self.is_held_up:
            await self._clock.sleep(0.05)
        return await super().get(kind, namespace, name)


class Candidate:
    def __init__(self, house: House, clock: FakeClock, name: str) -> None:
        self.client = SlowClient(house, clock)
        self.leadership = Leadership(self.client, clock, name)
        self._is_working = False
        self.task = tasks.guard(self.leadership.run(self.work), name=name, on_failure=lambda error: None)

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
    """However many turns that takes: the clock stands still meanwhile."""
    async with asyncio.timeout(30):
        while not candidate.works():  # noqa: ASYNC110 nobody tells
            await asyncio.sleep(0)


async def test_lease_of_a_killed_holder_was_taken_over_only_after_fifteen_seconds() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(EVERY_SECONDS)
        two = Candidate(house, clock, "two")
        await clock.advance(60.0)
        assert (one.works(), two.works()) == (True, False)
        await tasks.stop(one.task)
        await clock.advance(DURATION_SECONDS - 2 * EVERY_SECONDS)
        assert not two.works(), "the first may still be at work: its lease has not run out"
        await clock.advance(2 * EVERY_SECONDS)
        await until_it_works(two)
        lease = await two.client.get(LEASES, "kube-system", "probate")
        assert lease is not None
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("two", 1)
        await tasks.stop(two.task)
    assert DURATION_SECONDS <= 3


async def test_holder_that_was_merely_busy_goes_on_if_nobody_has_taken_the_lease() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(EVERY_SECONDS)
        clock._now += 100 * PATIENCE_SECONDS  # what the process slept through
        await clock.advance(EVERY_SECONDS)
        assert one.works()
        await tasks.stop(one.task)


async def test_holder_that_slept_while_another_took_the_lease_stops() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(EVERY_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        leader.client.is_held_up = True
        await clock.advance(2 * DURATION_SECONDS)
        assert (leader.works(), other.works()) == (True, True)  # which does no harm
        leader.client.is_held_up = False
        await clock.advance(2 * EVERY_SECONDS)
        assert (leader.works(), other.works()) == (False, True)
        await tasks.stop(one.task, two.task)


async def test_holder_that_cannot_reach_the_store_stops_after_a_while() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(EVERY_SECONDS)
        assert one.works()
        await house.store.close()  # nothing can be read or written any more
        await clock.advance(PATIENCE_SECONDS + EVERY_SECONDS)
        assert not one.works()
        await tasks.stop(one.task)


async def test_holder_whose_lease_was_taken_stops_at_once() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(EVERY_SECONDS)
        await one.client.patch(LEASES, "kube-system", "probate", {"spec": {"holderIdentity": "somebody else"}})
        await clock.advance(EVERY_SECONDS)
        assert not one.works()
        await tasks.stop(one.task)


async def test_lease_that_is_given_back_is_taken_by_the_next_without_waiting() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(EVERY_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        await tasks.stop(leader.task)
        before = clock.now()
        await leader.leadership.resign()
        await until_it_works(other)
        assert clock.now() == before
        await tasks.stop(other.task)


async def test_holder_keeps_the_lease_when_the_store_stood_still_for_everybody() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(EVERY_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        one.client.is_held_up = two.client.is_held_up = True
        await clock.advance(DURATION_SECONDS + 1.0)
        other.client.is_held_up = False  # who is the first to be answered does not matter
        await clock.advance(0.1)
        leader.client.is_held_up = False
        await clock.advance(10.0)
        assert (leader.works(), other.works()) == (True, False)
        await tasks.stop(one.task, two.task)
