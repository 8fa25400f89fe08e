"""Sets and dicts that were large once become small again."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from probate.core import memory_trim, sparse_tables

LARGE = 100_000
SMALL = sparse_tables.SMALL_BYTES


def test_sets_and_dicts_kept_the_size_that_they_had_during_an_attack() -> None:
    numbers, names = set(range(LARGE)), {number: str(number) for number in range(LARGE)}
    for number in range(3, LARGE):
        numbers.discard(number)
        del names[number]
    assert sys.getsizeof(numbers) > SMALL < sys.getsizeof(names)
    sparse_tables.shrink([numbers, names])
    assert sys.getsizeof(numbers) < SMALL > sys.getsizeof(names)
    assert numbers == {0, 1, 2}
    assert list(names.items()) == [(0, "0"), (1, "1"), (2, "2")]


def test_tables_that_are_in_use_are_left_alone() -> None:
    numbers, names = set(range(LARGE)), dict.fromkeys(range(LARGE))
    before = sys.getsizeof(numbers), sys.getsizeof(names)
    sparse_tables.shrink([numbers, names])
    assert (sys.getsizeof(numbers), sys.getsizeof(names)) == before


def test_tables_of_the_event_loop_kept_the_size_that_they_had_during_an_attack() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(asyncio.sleep(1000)) for _ in range(LARGE // 10)]
        await asyncio.sleep(0)
        assert table_bytes() > 2 * SMALL
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        tasks.clear()
        sparse_tables.shrink(sparse_tables.loop_tables())
        assert table_bytes() < SMALL
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await asyncio.sleep(0.001)  # timers work as before

    uvloop.run(run())


def table_bytes() -> int:
    return max(map(sys.getsizeof, sparse_tables.loop_tables()))


def test_the_trimmer_shrinks_the_tables_that_it_is_given() -> None:
    async def run() -> None:
        numbers = set(range(LARGE))
        numbers.clear()
        numbers.update(range(LARGE))
        trimmer = memory_trim.Trimmer(lambda: [numbers])
        await trimmer.look(0, 0)
        await trimmer.look(0, 0)
        large = b"x" * 200 * 1024 * 1024
        for number in range(1, LARGE):
            numbers.discard(number)
        for _ in range(memory_trim.LONGEST_SECONDS):
            await trimmer.look(1, 0)
        assert len(large) > 0
        assert sys.getsizeof(numbers) < SMALL

    asyncio.run(run())
