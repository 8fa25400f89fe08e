"""Leadership by Lease, on the API in the test's own process and on a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from in_process import House, running
from probate.aio import tasks
from probate.client.objects import Client
from probate.clock import FakeClock
from probate.control.leadership import DURATION_SECONDS, EVERY_SECONDS, LEASES, PATIENCE_SECONDS, Leadership
from probate.server.local import Local


class Candidate:
    def __init__(self, house: House, clock: FakeClock, name: str) -> None:
        self.client = Client(Local(house.api))
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


async def test_one_of_two_works_and_the_other_takes_over_once_the_lease_has_run_out() -> None:
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
        await clock.advance(3 * EVERY_SECONDS)
        assert two.works()
        lease = await two.client.get(LEASES, "kube-system", "probate")
        assert lease is not None
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("two", 1)
        await tasks.stop(two.task)


async def test_holder_that_cannot_renew_stops_before_another_may_begin() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(EVERY_SECONDS)
        assert one.works()
        await house.store.close()  # nothing can be read or written any more
        await clock.advance(PATIENCE_SECONDS + EVERY_SECONDS)
        assert not one.works()
        await tasks.stop(one.task)
    assert PATIENCE_SECONDS + EVERY_SECONDS < DURATION_SECONDS


async def test_holder_whose_lease_was_taken_stops_at_once() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = Candidate(house, clock, "one")
        await clock.advance(EVERY_SECONDS)
        await one.client.patch(LEASES, "kube-system", "probate", {"spec": {"holderIdentity": "somebody else"}})
        await clock.advance(EVERY_SECONDS)
        assert not one.works()
        await tasks.stop(one.task)


async def test_lease_that_is_given_back_is_taken_by_the_next_at_once() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one, two = Candidate(house, clock, "one"), Candidate(house, clock, "two")
        await clock.advance(EVERY_SECONDS)
        leader, other = (one, two) if one.works() else (two, one)
        await tasks.stop(leader.task)
        await leader.leadership.resign()
        await clock.advance(EVERY_SECONDS)
        assert other.works()
        await tasks.stop(other.task)
