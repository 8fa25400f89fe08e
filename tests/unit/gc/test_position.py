"""How far the collector got is noted now and then, so that after a restart it goes on from there."""

from __future__ import annotations

from in_process import FakeClock, House, running
from probate.gc.collector import NOTE_SECONDS
from probate.server.world import POSITION


async def noted(house: House) -> int:
    found = await house.store.read(POSITION)
    assert found is not None
    return int(found.value)


async def test_position_is_noted_also_while_nothing_matters_to_the_collector() -> None:
    """Objects without owners came by the thousand, and after a restart it looked at all of them before it was ready."""
    clock = FakeClock()
    async with running(clock=clock) as house:
        for number in range(3):
            await clock.advance(NOTE_SECONDS)
            made = await house.create("configmaps", "default", {"metadata": {"name": f"m{number}"}})
            await house.turns()
            assert await noted(house) >= int(made["metadata"]["resourceVersion"])


async def test_position_is_not_noted_with_every_change() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        await clock.advance(NOTE_SECONDS)
        await house.create("configmaps", "default", {"metadata": {"name": "first"}})
        await house.turns()
        before = await noted(house)
        await house.create("configmaps", "default", {"metadata": {"name": "second"}})
        await house.turns()
        assert await noted(house) == before
