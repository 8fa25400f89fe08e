"""The end of a change feed loop."""

from __future__ import annotations

import asyncio

from probate.controllers.manager import SCOPES, run_all
from support.in_process_server import FakeClock, running


async def test_no_watch_remains_after_the_end() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        before = asyncio.all_tasks()
        async with run_all(house.api, clock, SCOPES):
            await house.yield_to_loop()
            assert asyncio.all_tasks() - before
        assert asyncio.all_tasks() == before
