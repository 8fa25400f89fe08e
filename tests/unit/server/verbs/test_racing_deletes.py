"""Concurrent deletes of the same object."""

from __future__ import annotations

import asyncio

import pytest

from support.in_process_server import running

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


@pytest.mark.parametrize("turns", range(12))
async def test_delete_reported_a_terminating_pod_that_another_request_had_removed(turns: int) -> None:
    async with running(collects=False) as server:
        await server.create("pods", "default", POD)

        async def other() -> int:
            await server.yield_to_loop(turns)
            return (await server.request("DELETE", f"{PODS}/web")).code

        options = {"gracePeriodSeconds": 0, "orphanDependents": False}
        first, second = await asyncio.gather(server.request("DELETE", f"{PODS}/web", options), other())
        assert (await server.request("GET", f"{PODS}/web")).code == 404
        assert first.code == 200, first.body
        assert second in {200, 404}
