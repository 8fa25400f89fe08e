"""Long work goes in pieces, one at a time, and requests come in between."""

from __future__ import annotations

import asyncio

from probate.core.aio import time_slices


async def test_only_one_piece_is_done_before_the_loop_goes_on() -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            await time_slices.turn()
            done.append(name)

    working = [asyncio.create_task(work(name)) for name in "abc"]
    most = 0
    while not all(one.done() for one in working):
        before = len(done)
        await asyncio.sleep(0)
        most = max(most, len(done) - before)
    assert most == 1
    assert done == list("abcabcabc")


async def test_who_gives_up_its_turn_keeps_nobody_waiting() -> None:
    first, second = asyncio.create_task(time_slices.turn()), asyncio.create_task(time_slices.turn())
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(60):
        await second
    assert first.cancelled()


async def test_pieces_are_short_while_others_ask_and_one_request_alone_is_not_others() -> None:
    assert time_slices.piece(100) == 100
    time_slices.of_loop().note_request()
    assert time_slices.piece(100) == 100
    time_slices.of_loop().note_request()
    assert time_slices.piece(100) == 100 // time_slices.SHORTER
    assert time_slices.piece(1) == 1


async def test_request_that_just_came_goes_before_the_next_piece() -> None:
    done: list[str] = []

    async def work() -> None:
        await time_slices.turn()
        done.append("piece")

    async def request() -> None:
        await asyncio.sleep(0)
        done.append("request")

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    time_slices.of_loop().note_request()
    await asyncio.gather(asyncio.create_task(request()), working)
    assert done == ["request", "piece"]


async def test_work_goes_on_while_others_ask_all_the_time() -> None:
    async def work() -> None:
        for _ in range(10):
            await time_slices.turn()

    working = asyncio.create_task(work())
    for _ in range(100):
        time_slices.of_loop().note_request()
        await asyncio.sleep(0)
    assert working.done()
