"""Dependents that come to an owner when it is already on its way out."""

from __future__ import annotations

import asyncio
from typing import Any

from probate.gc.collector import BIRTH_SECONDS
from support.in_process_server import FakeClock, House, running

FOLDER = "/api/v1/namespaces/default/configmaps"
OWNER = f"{FOLDER}/owner"


def dependent(name: str, owner: Any) -> Any:
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    return {"metadata": {"name": name, "ownerReferences": [reference]}}


async def is_there(house: House, path: str) -> bool:
    return (await house.ask("GET", path)).code == 200


async def free(house: House, path: str) -> None:
    """Take the finalizers off."""
    found = (await house.ask("GET", path)).json
    del found["metadata"]["finalizers"]
    assert (await house.ask("PUT", path, found)).code == 200


async def test_owner_held_by_a_dependent_that_was_not_heard_of_yet_leaves_in_the_end() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        early = dependent("early", owner)
        early["metadata"]["finalizers"] = ["example.com/hold"]
        await house.create("configmaps", "default", early)
        await house.ask("DELETE", OWNER, {"propagationPolicy": "Foreground"})
        await house.turns()
        await house.create("configmaps", "default", dependent("late", owner))
        await free(house, f"{FOLDER}/early")
        await house.turns()  # the early one goes; the owner is held by the late one, which nobody looks at before its time
        assert [await is_there(house, f"{FOLDER}/{name}") for name in ("early", "late", "owner")] == [False, True, True]
        await clock.advance(BIRTH_SECONDS)
        await house.turns()
        assert [await is_there(house, f"{FOLDER}/{name}") for name in ("early", "late", "owner")] == [False, False, False]


async def test_stopped_collector_leaves_no_task_behind() -> None:
    async with running():
        await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}
