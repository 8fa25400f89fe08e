"""Workers: a key never runs twice at once, failures back off, long reconciles are followed by a pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from probate.client.informers import NamespacedName
from probate.controllers.runtime.workers import CONCURRENCY, FIRST_RETRY_SECONDS, Workers
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock

A, B = NamespacedName("default", "a"), NamespacedName("", "b")


class Recorder:
    """Records reconciles. Each takes as long, and returns, as the test says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.reconciles: list[NamespacedName] = []
        self.ends: Callable[[NamespacedName], Awaitable[float | None]] = self.at_once
        self.workers = Workers("test", self._sync, self.clock)

    async def at_once(self, _: NamespacedName) -> float | None:
        return None

    async def _sync(self, name: NamespacedName) -> float | None:
        self.reconciles.append(name)
        return await self.ends(name)

    async def turns(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)


@asynccontextmanager
async def desk() -> AsyncGenerator[Recorder, None]:
    one = Recorder()
    running = asyncio.ensure_future(one.workers.run())
    try:
        yield one
    finally:
        await tasks.stop(running)


async def test_key_that_is_added_often_is_reconciled_once() -> None:
    async with desk() as one:
        for _ in range(3):
            one.workers.add(A)
        one.workers.add(B)
        await one.turns()
        assert (one.reconciles, one.workers.is_idle) == ([A, B], True)


async def test_key_that_is_added_while_it_runs_runs_again_and_never_twice_at_once() -> None:
    """C-2."""
    async with desk() as one:
        under_way, most = 0, 0
        finish = asyncio.Event()

        async def slowly(_: NamespacedName) -> float | None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await finish.wait()
            under_way -= 1
            return None

        one.ends = slowly
        one.workers.add(A)
        await one.turns()
        for _ in range(3):
            one.workers.add(A)
            await one.turns()
        assert one.reconciles == [A]
        finish.set()
        await one.turns()
        assert (one.reconciles, most, one.workers.is_idle) == ([A, A], 1, True)


async def test_several_keys_run_at_once_but_not_too_many() -> None:
    async with desk() as one:
        one.ends = lambda _: asyncio.Event().wait()
        for number in range(20):
            one.workers.add(NamespacedName("", str(number)))
        await one.turns()
        assert len(one.reconciles) == CONCURRENCY


async def test_failures_back_off_and_success_resets_that(caplog: pytest.LogCaptureFixture) -> None:
    """C-4, with times of our own."""
    async with desk() as one:

        async def fails(_: NamespacedName) -> float | None:
            raise errors.Forbidden("no")

        async def waits() -> float:
            """Returns the seconds until the next reconcile."""
            before, began = len(one.reconciles), one.clock.now()
            while len(one.reconciles) == before:
                await one.clock.advance(0.01)
            return round(one.clock.now() - began, 1)

        one.ends = fails
        one.workers.add(A)
        await one.turns()
        assert [await waits() for _ in range(3)] == [0.1, 0.2, 0.4]
        one.ends = one.at_once
        await waits()
        one.ends = fails
        one.workers.add(A)
        await one.turns()
        assert await waits() == 0.1
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR], "a refusal is no mistake of ours"


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        (errors.Invalid("x"), False),
        (ExceptionGroup("many", [errors.Forbidden("x"), errors.Invalid("y")]), False),
        (ExceptionGroup("many", [errors.Forbidden("x"), KeyError("y")]), True),
        (KeyError("x"), True),
    ],
)
async def test_defect_is_logged_and_does_not_delay_other_keys(
    error: Exception, is_ours: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with desk() as one:

        async def fails(name: NamespacedName) -> float | None:
            if name == A:
                raise error
            return None

        one.ends = fails
        one.workers.add(A)
        one.workers.add(B)
        await one.turns()
        assert one.reconciles == [A, B]
        assert bool([record for record in caplog.records if record.levelno >= logging.ERROR]) == is_ours


async def test_long_reconcile_is_followed_by_a_pause_unless_it_continues_at_once() -> None:
    async with desk() as one:
        result: list[float | None] = [None]

        async def slowly(_: NamespacedName) -> float | None:
            await one.clock.sleep(0.1)
            return result[0]

        one.ends = slowly
        one.workers.add(A)
        await one.clock.advance(0.2)
        one.workers.add(A)  # the rest lasts from 0.1 to 0.5
        await one.turns()
        assert len(one.reconciles) == 1
        await one.clock.advance(0.25)
        assert len(one.reconciles) == 1
        result[0] = 0.0
        await one.clock.advance(0.1)
        assert len(one.reconciles) == 2
        await one.clock.advance(0.1)  # it said that there is more to do
        assert len(one.reconciles) == 3


async def test_pauses_that_are_over_are_dropped() -> None:
    async with desk() as one:
        one.ends = lambda _: one.clock.sleep(0.01)
        for number in range(1_000):
            one.workers.add(NamespacedName("", str(number)))
            await one.clock.advance(0.1)
        assert len(one.workers._paused_until) < 200


@pytest.mark.parametrize(
    ("error", "is_failure"),
    [
        (errors.Conflict("somebody was faster"), False),
        (ExceptionGroup("both", [errors.Conflict("one"), errors.Conflict("two")]), False),
        (ExceptionGroup("both", [errors.Conflict("one"), errors.Forbidden("two")]), True),
        (errors.Forbidden("no"), True),
    ],
)
async def test_conflict_is_retried_soon_each_time(error: Exception, *, is_failure: bool) -> None:
    async def fail(_: NamespacedName) -> float | None:
        raise error

    async with desk() as one:
        one.ends = fail
        one.workers.add(A)
        await one.turns()
        for _ in range(4):
            await one.clock.advance(FIRST_RETRY_SECONDS)
            await one.turns()
        assert (len(one.reconciles) == 5) is not is_failure
