"""The queue of a controller: each key once, in order, now or at its time."""

from __future__ import annotations

import asyncio
import tracemalloc

from probate.controllers.runtime.workqueue import Queue
from probate.core.clock import FakeClock


async def taken(queue: Queue) -> list[str]:
    """All that can be taken now."""
    found: list[str] = []
    while True:
        taking = asyncio.ensure_future(queue.take())
        for _ in range(5):
            await asyncio.sleep(0)
        if not taking.done():
            taking.cancel()
            return found
        found.append(taking.result())


async def test_what_is_added_twice_comes_once_and_in_order() -> None:
    """C-2."""
    queue = Queue(FakeClock())
    for key in ("b", "a", "b"):
        queue.add(key)
    assert await taken(queue) == ["b", "a"]
    queue.add("b")
    assert await taken(queue) == ["b"]
    assert len(queue) == 0


async def test_what_waits_is_woken_by_what_is_added_and_by_the_clock() -> None:
    clock = FakeClock()
    queue = Queue(clock)
    queue.add_later("later", 5)
    taking = asyncio.ensure_future(queue.take())
    await clock.advance(4)
    assert not taking.done()
    queue.add("now")
    assert await taking == "now"
    taking = asyncio.ensure_future(queue.take())
    await clock.advance(1)
    assert await taking == "later"


async def test_appointment_is_kept_once_at_the_soonest_of_its_times() -> None:
    """C-3."""
    clock = FakeClock()
    queue = Queue(clock)
    for seconds in (9, 3, 6):
        queue.add_later("a", seconds)
    await clock.advance(3)
    assert await taken(queue) == ["a"]
    await clock.advance(10)
    assert await taken(queue) == []


async def test_key_that_comes_up_has_no_appointment_any_more() -> None:
    clock = FakeClock()
    queue = Queue(clock)
    queue.add_later("a", 3)
    queue.add("a")
    queue.add_later("a", 1)
    assert await taken(queue) == ["a"]
    await clock.advance(5)
    assert await taken(queue) == []
    assert len(queue) == 0


async def test_appointments_that_are_put_off_again_and_again_do_not_pile_up() -> None:
    clock = FakeClock()
    queue = Queue(clock)
    queue.add_later("first", 500)
    tracemalloc.start()
    for number in range(10_000):
        queue.add("often")
        assert await queue.take() == "often"
        queue.add_later("often", 600 + number)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 50_000
    await clock.advance(500)
    assert await taken(queue) == ["first"]
    await clock.advance(10_098)
    assert await taken(queue) == []
    await clock.advance(1)
    assert await taken(queue) == ["often"]
