"""The loop of the controllers of namespaces and definitions, as it ends."""

from __future__ import annotations

import asyncio

from probate.controllers.manager import SCOPES, at_work
from support.in_process_server import FakeClock, running


async def test_nothing_reads_on_after_the_end() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        before = asyncio.all_tasks()
        async with at_work(house.api, clock, SCOPES):
            await house.turns()
            assert asyncio.all_tasks() - before
        assert asyncio.all_tasks() == before
