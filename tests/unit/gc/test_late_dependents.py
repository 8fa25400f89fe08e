"""Dependents that are added while their owner is being deleted."""

from __future__ import annotations

import asyncio
from typing import Any

from probate.gc.collector import NEW_OBJECT_SECONDS
from support.in_process_server import FakeClock, InProcessServer, running

FOLDER = "/api/v1/namespaces/default/configmaps"
OWNER = f"{FOLDER}/owner"


def dependent(name: str, owner: Any) -> Any:
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    return {"metadata": {"name": name, "ownerReferences": [reference]}}


async def exists(house: InProcessServer, path: str) -> bool:
    return (await house.request("GET", path)).code == 200


async def remove_finalizers(house: InProcessServer, path: str) -> None:
    """Removes all finalizers."""
    found = (await house.request("GET", path)).json
    del found["metadata"]["finalizers"]
    assert (await house.request("PUT", path, found)).code == 200


async def test_owner_blocked_by_a_dependent_whose_change_has_not_arrived_is_released_later() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        early = dependent("early", owner)
        early["metadata"]["finalizers"] = ["example.com/hold"]
        await house.create("configmaps", "default", early)
        await house.request("DELETE", OWNER, {"propagationPolicy": "Foreground"})
        await house.yield_to_loop()
        await house.create("configmaps", "default", dependent("late", owner))
        await remove_finalizers(house, f"{FOLDER}/early")
        await house.yield_to_loop()  # the early one goes; the owner is held by the late one, which nobody looks at before its time
        assert [await exists(house, f"{FOLDER}/{name}") for name in ("early", "late", "owner")] == [False, True, True]
        await clock.advance(NEW_OBJECT_SECONDS)
        await house.yield_to_loop()
        assert [await exists(house, f"{FOLDER}/{name}") for name in ("early", "late", "owner")] == [False, False, False]


async def test_stopped_collector_leaves_no_task_behind() -> None:
    async with running():
        await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}
