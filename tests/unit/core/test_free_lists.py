"""Free lists of event loops keep no object that was created during an attack."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from probate.core import free_lists
from probate.core.free_lists import FreeLists

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


def addresses(created: list[object]) -> set[int]:
    return {id(one) for one in created}


async def create() -> list[object]:
    """Creates an object of each kind that an attack leaves on the free lists; these are not the reserve's."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    created: list[object] = []
    for _ in range(2 * free_lists.ITERATORS):
        timer = loop.call_later(1000, print)
        timer.cancel()
        created += [timer, loop.call_soon(int), future.__await__()]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return created


def test_free_lists_kept_objects_that_were_created_during_an_attack() -> None:
    """Each kept an arena of a megabyte. After `replace`, the next objects are in the reserve's places."""

    async def run() -> float:
        lists = FreeLists()
        await lists.reserve()
        reserve = addresses(lists._reserve)
        attack = await create()
        of_attack = addresses(attack)
        del attack
        await asyncio.sleep(0)
        await lists.replace()
        await lists.reserve()
        after = addresses(lists._reserve)
        assert len(after & of_attack) < 0.1 * len(after)
        return len(after & reserve) / len(after)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) > 0.9


@pytest.mark.parametrize("loop", LOOPS)
def test_what_the_reserve_consists_of_does_nothing(loop: object) -> None:
    async def run() -> None:
        lists = FreeLists()
        await lists.reserve()
        for _ in range(3):
            await lists.replace()
            await lists.reserve()
        assert len(asyncio.all_tasks()) == 1

    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        runner.run(run())
