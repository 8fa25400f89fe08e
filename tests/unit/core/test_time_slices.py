"""Long work runs in slices, one at a time, and requests run in between."""

from __future__ import annotations

import asyncio

from probate.core.aio import time_slices


async def test_only_one_slice_runs_per_loop_iteration() -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            await time_slices.wait_turn()
            done.append(name)

    working = [asyncio.create_task(work(name)) for name in "abc"]
    most = 0
    while not all(one.done() for one in working):
        before = len(done)
        await asyncio.sleep(0)
        most = max(most, len(done) - before)
    assert most == 1
    assert done == list("abcabcabc")


async def test_cancelled_turn_does_not_block_others() -> None:
    first, second = asyncio.create_task(time_slices.wait_turn()), asyncio.create_task(time_slices.wait_turn())
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(60):
        await second
    assert first.cancelled()


async def test_slices_are_short_while_at_least_two_requests_are_recent() -> None:
    assert time_slices.slice_size(100) == 100
    time_slices.current().note_request()
    assert time_slices.slice_size(100) == 100
    time_slices.current().note_request()
    assert time_slices.slice_size(100) == 100 // time_slices.BUSY_DIVISOR
    assert time_slices.slice_size(1) == 1


async def test_new_request_runs_before_the_next_slice() -> None:
    done: list[str] = []

    async def work() -> None:
        await time_slices.wait_turn()
        done.append("slice")

    async def request() -> None:
        await asyncio.sleep(0)
        done.append("request")

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    time_slices.current().note_request()
    await asyncio.gather(asyncio.create_task(request()), working)
    assert done == ["request", "slice"]


async def test_work_progresses_while_requests_keep_arriving() -> None:
    async def work() -> None:
        for _ in range(10):
            await time_slices.wait_turn()

    working = asyncio.create_task(work())
    for _ in range(100):
        time_slices.current().note_request()
        await asyncio.sleep(0)
    assert working.done()
