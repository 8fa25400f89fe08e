"""The work queue: each key once, in order, now or at its time."""

from __future__ import annotations

import asyncio
import tracemalloc

from probate.controllers.runtime.workqueue import Queue
from probate.core.clock import FakeClock


async def take_all(queue: Queue) -> list[str]:
    """Takes all keys that are due."""
    found: list[str] = []
    while True:
        taking = asyncio.ensure_future(queue.take())
        for _ in range(5):
            await asyncio.sleep(0)
        if not taking.done():
            taking.cancel()
            return found
        found.append(taking.result())


async def test_key_that_is_added_twice_is_taken_once_and_in_order() -> None:
    """C-2."""
    queue = Queue(FakeClock())
    for key in ("b", "a", "b"):
        queue.add(key)
    assert await take_all(queue) == ["b", "a"]
    queue.add("b")
    assert await take_all(queue) == ["b"]
    assert len(queue) == 0


async def test_take_wakes_up_for_added_keys_and_for_the_clock() -> None:
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


async def test_delayed_key_is_due_once_at_its_earliest_time() -> None:
    """C-3."""
    clock = FakeClock()
    queue = Queue(clock)
    for seconds in (9, 3, 6):
        queue.add_later("a", seconds)
    await clock.advance(3)
    assert await take_all(queue) == ["a"]
    await clock.advance(10)
    assert await take_all(queue) == []


async def test_key_that_was_taken_has_no_delay_any_more() -> None:
    clock = FakeClock()
    queue = Queue(clock)
    queue.add_later("a", 3)
    queue.add("a")
    queue.add_later("a", 1)
    assert await take_all(queue) == ["a"]
    await clock.advance(5)
    assert await take_all(queue) == []
    assert len(queue) == 0


async def test_delays_that_are_replaced_again_and_again_do_not_accumulate() -> None:
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
    assert await take_all(queue) == ["first"]
    await clock.advance(10_098)
    assert await take_all(queue) == []
    await clock.advance(1)
    assert await take_all(queue) == ["often"]
