"""A full store: failed actions are retried a second later, not at once and forever."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.manager import run_all
from probate.controllers.registry import BULK_CONTROLLERS
from probate.gc.collector import RETRY_SECONDS
from probate.store.sqlite.store import SqliteStore
from support.in_process_server import INSECURE, FakeClock, InProcessServer, running

FOLDER = "/api/v1/namespaces/default/configmaps"
CHILDREN = 3
MOST = 2 * CHILDREN + 1
"""Failures of one round: for an owner that is still blocked, the dependents that may block it are checked again."""


async def make(house: InProcessServer, name: str, *references: Any, **more: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": references, **more}})


def limit(house: InProcessServer, pages: int) -> None:
    assert isinstance(house.engine, SqliteStore)
    house.engine.database.writer.execute(f"PRAGMA max_page_count = {pages}")


async def fill(house: InProcessServer) -> None:
    """Fills the store, so that not even a small write fits."""
    limit(house, 1)  # SQLite takes this for "no more than there is"
    number = 0
    while (await house.request("POST", FOLDER, {"metadata": {"name": f"filling-{number}"}})).code == 201:
        number += 1


async def failures(house: InProcessServer) -> float:
    text = (await house.request("GET", "/metrics", accept="text/plain")).body.decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("probate_gc_failures_total"))


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_actions_that_a_full_store_refuses_are_retried_a_second_later(policy: str) -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        uid = (await make(house, "owner"))["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
        for number in range(CHILDREN):
            await make(house, f"child-{number}", reference)
        await house.request("DELETE", f"{FOLDER}/owner", {"propagationPolicy": policy})
        await fill(house)
        async with run_all(house.api, clock, BULK_CONTROLLERS, settings=INSECURE):
            await clock.advance(0.1)
            await house.yield_to_loop(2_000)
            first = await failures(house)
            assert 0 < first <= MOST
            await clock.advance(RETRY_SECONDS)
            await house.yield_to_loop(2_000)
            assert first < await failures(house) <= 2 * MOST
            limit(house, 1_000_000)
            await clock.advance(RETRY_SECONDS)
            await house.yield_to_loop(2_000)
            assert (await house.request("GET", f"{FOLDER}/owner")).code == 404
            left = [(await house.request("GET", f"{FOLDER}/child-{number}")) for number in range(CHILDREN)]
            assert [response.code for response in left] == [200 if policy == "Orphan" else 404] * CHILDREN


async def test_cycle_that_could_not_be_broken_is_broken_later() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = await make(house, "one")
        uid = one["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": uid, "blockOwnerDeletion": True}
        one["metadata"]["ownerReferences"] = [reference]
        assert (await house.request("PUT", f"{FOLDER}/one", one)).code == 200
        await house.request("DELETE", f"{FOLDER}/one", {"propagationPolicy": "Foreground"})
        await fill(house)
        async with run_all(house.api, clock, BULK_CONTROLLERS, settings=INSECURE):
            await clock.advance(0.1)
            await house.yield_to_loop(2_000)
            assert await failures(house) == 1
            limit(house, 1_000_000)
            await clock.advance(RETRY_SECONDS)
            await house.yield_to_loop(2_000)
            assert (await house.request("GET", f"{FOLDER}/one")).code == 404
