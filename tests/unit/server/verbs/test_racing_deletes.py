"""Two who delete the same object at once."""

from __future__ import annotations

import asyncio

import pytest

from support.in_process_server import running

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


@pytest.mark.parametrize("turns", range(12))
async def test_delete_said_that_a_pod_was_still_going_when_another_had_removed_it(turns: int) -> None:
    async with running(collects=False) as house:
        await house.create("pods", "default", POD)

        async def other() -> int:
            await house.turns(turns)
            return (await house.ask("DELETE", f"{PODS}/web")).code

        options = {"gracePeriodSeconds": 0, "orphanDependents": False}
        first, second = await asyncio.gather(house.ask("DELETE", f"{PODS}/web", options), other())
        assert (await house.ask("GET", f"{PODS}/web")).code == 404
        assert first.code == 200, first.body
        assert second in {200, 404}
