"""A collector that is stopped in the middle of a turn, as when its watch fails, loses no work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from probate.api.ownership import Action
from probate.controllers.manager import store_backend
from probate.core.aio import tasks
from probate.gc.collector import Collector
from probate.gc.workqueue import Work
from support.in_process_server import FakeClock, running


class Stopped(Collector):
    """Stops right after its first turn with actions, before they are executed."""

    at_work: asyncio.Task[None] | None = None
    has_decided = False

    def _execute(self, actions: list[Action], *rest: Work) -> Coroutine[Any, Any, None]:
        self.has_decided = bool(actions)
        return super()._execute(actions, *rest)

    async def _turn(self) -> None:
        await super()._turn()
        if self.at_work is not None and self.has_decided:
            self._executions[0].cancel()
            self.at_work.cancel()
            self.at_work = None

    async def work(self) -> None:
        self.at_work = asyncio.create_task(self.run())
        with suppress(asyncio.CancelledError):
            await self.at_work


async def test_actions_that_were_cancelled_before_their_task_began_were_lost() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        collector = Stopped(store_backend(house.api), clock)
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
        first = asyncio.create_task(collector.run())
        await house.yield_to_loop()
        await clock.advance(1)  # both creations are processed
        await house.yield_to_loop()
        await tasks.stop(first)
        response = await house.request("DELETE", "/api/v1/namespaces/default/configmaps/owner", {"propagationPolicy": "Background"})
        assert response.code == 200
        await asyncio.wait_for(collector.work(), 60)
        assert (await house.request("GET", "/api/v1/namespaces/default/configmaps/child")).code == 200, "it was stopped too late"
        again = asyncio.create_task(collector.run())
        await house.yield_to_loop()
        await clock.advance(1)
        await house.yield_to_loop()
        assert (await house.request("GET", "/api/v1/namespaces/default/configmaps/child")).code == 404
        await tasks.stop(again)
