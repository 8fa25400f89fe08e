"""The collector's position is saved from time to time, so that it continues there after a restart."""

from __future__ import annotations

from probate.gc.backends.store.store_backend import POSITION
from probate.gc.collector import SAVE_CHANGES, SAVE_SECONDS
from probate.store.contract import create
from support.in_process_server import FakeClock, InProcessServer, running


async def saved_position(house: InProcessServer) -> int:
    found = await house.store.read(POSITION)
    return 0 if found is None else int(found.value)


async def create_many(house: InProcessServer, name: str, number: int) -> int:
    """Creates objects without owners. Returns the revision of the last."""
    value = b'{"metadata":{"name":"m","namespace":"default","uid":"u"}}'
    made = await house.store.commit_many([create(f"objects/configmaps/default/{name}-{one}", value) for one in range(number)])
    await house.yield_to_loop()
    assert isinstance(made[-1], int)
    return made[-1]


async def test_position_is_saved_also_while_all_changes_are_irrelevant() -> None:
    """Thousands of objects without owners were created, and after a restart the collector read all of them before it was ready."""
    clock = FakeClock()
    async with running(clock=clock) as house:
        for number in range(3):
            await clock.advance(SAVE_SECONDS)
            assert await saved_position(house) < await create_many(house, f"m{number}", SAVE_CHANGES) <= await saved_position(house)


async def test_position_is_not_saved_for_a_few_changes_nor_too_often() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        await clock.advance(SAVE_SECONDS)
        await create_many(house, "first", SAVE_CHANGES)
        before = await saved_position(house)
        await create_many(house, "at-once", 2 * SAVE_CHANGES)
        assert await saved_position(house) == before
        await clock.advance(SAVE_SECONDS)
        await create_many(house, "more", SAVE_CHANGES)
        before = await saved_position(house)
        await clock.advance(SAVE_SECONDS)
        await create_many(house, "few", 10)
        assert await saved_position(house) == before
