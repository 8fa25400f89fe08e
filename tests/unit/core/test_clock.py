"""The fake clock stands still until `advance`; the system clock is the machine's."""

from __future__ import annotations

import asyncio
import time

import pytest

from probate.core.clock import FakeClock, SystemClock


async def test_fake_clock_stands_still() -> None:
    clock = FakeClock(100.0)
    before = (clock.now(), clock.monotonic())
    await asyncio.sleep(0)
    assert (clock.now(), clock.monotonic()) == before == (100.0, 100.0)


async def test_sleeper_wakes_at_its_deadline_and_not_before() -> None:
    clock = FakeClock()
    sleeping = asyncio.create_task(clock.sleep(10.0))
    await clock.advance(9.5)
    assert not sleeping.done()
    await clock.advance(0.5)
    assert sleeping.done()


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    clock = FakeClock(0.0)
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleep(name, seconds)) for name, seconds in (("c", 3.0), ("a", 1.0), ("b", 2.0), ("also a", 1.0))]
    await clock.advance(10.0)
    await asyncio.gather(*tasks)
    assert woken == [("a", 1.0), ("also a", 1.0), ("b", 2.0), ("c", 3.0)]
    assert clock.now() == 10.0


async def test_repeated_sleeps_all_wake_within_one_advance() -> None:
    clock = FakeClock(0.0)
    woken: list[float] = []

    async def loop() -> None:
        while True:
            await clock.sleep(2.0)
            woken.append(clock.now())

    looping = asyncio.create_task(loop())
    await clock.advance(7.0)
    assert woken == [2.0, 4.0, 6.0]
    await clock.advance(1.0)
    assert woken[-1] == 8.0
    looping.cancel()


async def test_cancelled_sleeper_does_not_affect_others() -> None:
    clock = FakeClock()
    first, second = (asyncio.create_task(clock.sleep(seconds)) for seconds in (1.0, 2.0))
    await clock.advance(0.5)
    first.cancel()
    await clock.advance(2.0)
    assert first.cancelled()
    assert second.done()
    assert not second.cancelled()


@pytest.mark.parametrize("seconds", [0.0, -1.0])
async def test_sleep_of_zero_or_less_returns_without_an_advance(seconds: float) -> None:
    async with asyncio.timeout(60):
        await FakeClock().sleep(seconds)


async def test_system_clock_returns_the_machines_time() -> None:
    clock = SystemClock()
    earliest = time.time()
    assert earliest <= clock.now() <= time.time()
    before = clock.monotonic()
    await clock.sleep(0.001)
    assert clock.monotonic() - before >= 0.001
