"""How far the collector got is noted now and then, so that after a restart it goes on from there."""

from __future__ import annotations

from probate.gc.backends.store.backend import POSITION
from probate.gc.collector import NOTE_CHANGES, NOTE_SECONDS
from probate.store.contract import create
from support.in_process_server import FakeClock, House, running


async def noted(house: House) -> int:
    found = await house.store.read(POSITION)
    return 0 if found is None else int(found.value)


async def come(house: House, name: str, number: int) -> int:
    """So many objects without owners come. Returns the revision of the last."""
    value = b'{"metadata":{"name":"m","namespace":"default","uid":"u"}}'
    made = await house.store.commit_many([create(f"objects/configmaps/default/{name}-{one}", value) for one in range(number)])
    await house.turns()
    assert isinstance(made[-1], int)
    return made[-1]


async def test_position_is_noted_also_while_nothing_matters_to_the_collector() -> None:
    """Objects without owners came by the thousand, and after a restart it looked at all of them before it was ready."""
    clock = FakeClock()
    async with running(clock=clock) as house:
        for number in range(3):
            await clock.advance(NOTE_SECONDS)
            assert await noted(house) < await come(house, f"m{number}", NOTE_CHANGES) <= await noted(house)


async def test_position_is_not_noted_for_a_few_nor_too_often() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        await clock.advance(NOTE_SECONDS)
        await come(house, "first", NOTE_CHANGES)
        before = await noted(house)
        await come(house, "at-once", 2 * NOTE_CHANGES)
        assert await noted(house) == before
        await clock.advance(NOTE_SECONDS)
        await come(house, "more", NOTE_CHANGES)
        before = await noted(house)
        await clock.advance(NOTE_SECONDS)
        await come(house, "few", 10)
        assert await noted(house) == before
