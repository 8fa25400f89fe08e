"""A store that takes no more: what could not be done is tried again a second later, not at once and for ever."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.manager import IN_BULK, at_work
from probate.gc.collector import RETRY_SECONDS
from probate.store.sqlite.store import SqliteStore
from support.in_process_server import OPEN, FakeClock, House, running

FOLDER = "/api/v1/namespaces/default/configmaps"
CHILDREN = 3
MOST = 2 * CHILDREN + 1
"""Failures of one round: an owner that is still held has those looked at once more that may hold it."""


async def make(house: House, name: str, *references: Any, **more: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": references, **more}})


def limit(house: House, pages: int) -> None:
    assert isinstance(house.store, SqliteStore)
    house.store.database.writer.execute(f"PRAGMA max_page_count = {pages}")


async def fill(house: House) -> None:
    """Let the store take no more: not even what is small."""
    limit(house, 1)  # SQLite takes this for "no more than there is"
    number = 0
    while (await house.ask("POST", FOLDER, {"metadata": {"name": f"filling-{number}"}})).code == 201:
        number += 1


async def failures(house: House) -> float:
    text = (await house.ask("GET", "/metrics", accept="text/plain")).body.decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("probate_gc_failures_total"))


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_what_a_full_store_refuses_is_tried_again_a_second_later(policy: str) -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        uid = (await make(house, "owner"))["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
        for number in range(CHILDREN):
            await make(house, f"child-{number}", reference)
        await house.ask("DELETE", f"{FOLDER}/owner", {"propagationPolicy": policy})
        await fill(house)
        async with at_work(house.api, clock, IN_BULK, OPEN):
            await clock.advance(0.1)
            await house.turns(2_000)
            first = await failures(house)
            assert 0 < first <= MOST
            await clock.advance(RETRY_SECONDS)
            await house.turns(2_000)
            assert first < await failures(house) <= 2 * MOST
            limit(house, 1_000_000)
            await clock.advance(RETRY_SECONDS)
            await house.turns(2_000)
            assert (await house.ask("GET", f"{FOLDER}/owner")).code == 404
            left = [(await house.ask("GET", f"{FOLDER}/child-{number}")) for number in range(CHILDREN)]
            assert [told.code for told in left] == [200 if policy == "Orphan" else 404] * CHILDREN


async def test_circle_that_could_not_be_broken_is_broken_later() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        one = await make(house, "one")
        uid = one["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": uid, "blockOwnerDeletion": True}
        one["metadata"]["ownerReferences"] = [reference]
        assert (await house.ask("PUT", f"{FOLDER}/one", one)).code == 200
        await house.ask("DELETE", f"{FOLDER}/one", {"propagationPolicy": "Foreground"})
        await fill(house)
        async with at_work(house.api, clock, IN_BULK, OPEN):
            await clock.advance(0.1)
            await house.turns(2_000)
            assert await failures(house) == 1
            limit(house, 1_000_000)
            await clock.advance(RETRY_SECONDS)
            await house.turns(2_000)
            assert (await house.ask("GET", f"{FOLDER}/one")).code == 404
