"""What `/metrics` tells about the collector."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from probate.controllers.manager import COLLECTOR, at_work
from probate.gc.collector import BIRTH_SECONDS
from probate.gc.collector_metrics import Timeline
from support.in_process_server import OPEN, FakeClock, House, running

FOLDER = "/api/v1/namespaces/default/configmaps"


async def figures(house: House) -> dict[str, float]:
    """The collector's figures by name and labels."""
    text = (await house.ask("GET", "/metrics", accept="text/plain")).body.decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {
        "/".join([one.name.removeprefix("probate_gc_"), *one.labels.values()]): one.value
        for one in samples
        if one.name.startswith("probate_gc_")
    }


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: House, name: str, *references: Any, **more: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": references, **more}})


async def test_what_was_done_is_counted_by_action() -> None:
    async with running(clock=FakeClock(), collects=False) as house, at_work(house.api, house.clock, [COLLECTOR], OPEN):
        owner, keeper = await make(house, "owner"), await make(house, "keeper")
        await make(house, "child", reference(owner, blockOwnerDeletion=True))
        await make(house, "shared", reference(owner), reference(keeper))
        await house.ask("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        await house.turns()
        found = await figures(house)
        assert {name: value for name, value in found.items() if name.startswith("actions")} == {
            "actions_total/delete": 1,
            "actions_total/drop": 1,
            "actions_total/release": 1,
        }
        assert (found["following"], found["lag_revisions"]) == (1, 0)


async def test_queue_and_its_age_grow_until_its_time_has_come() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house, at_work(house.api, clock, [COLLECTOR], OPEN):
        await make(house, "child", reference(await make(house, "owner")))
        await house.turns()
        await clock.advance(BIRTH_SECONDS / 2)
        found = await figures(house)
        assert (found["queue_length"], round(found["oldest_work_seconds"], 4)) == (1, BIRTH_SECONDS / 2)
        await clock.advance(BIRTH_SECONDS)
        await house.turns()
        found = await figures(house)
        assert (found["queue_length"], found["oldest_work_seconds"]) == (0, 0)


async def test_lag_is_what_the_store_has_and_the_collector_was_not_told() -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        async with at_work(house.api, house.clock, [COLLECTOR], OPEN):
            await house.turns()
            assert (await figures(house))["lag_revisions"] == 0
        for number in range(3):
            await make(house, f"more-{number}")
        found = await figures(house)
        assert (found["lag_revisions"], found["following"]) == (3, 0)


async def test_oldest_waiting_owner_is_told_by_its_age_also_by_a_server_that_did_not_see_it_begin() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        first, second = await make(house, "first"), await make(house, "second")
        await make(house, "holds-first", reference(first, blockOwnerDeletion=True), finalizers=["example.com/hold"])
        await make(house, "holds-second", reference(second, blockOwnerDeletion=True), finalizers=["example.com/hold"])
        assert (await figures(house))["oldest_waiting_seconds"] == 0
        await house.ask("DELETE", f"{FOLDER}/second", {"propagationPolicy": "Foreground"})
        await clock.advance(60)
        await house.ask("DELETE", f"{FOLDER}/first", {"propagationPolicy": "Foreground"})
        await clock.advance(30)
        assert (await figures(house))["oldest_waiting_seconds"] == 90
        async with at_work(house.api, clock, [COLLECTOR], OPEN):
            await house.turns()
            assert (await figures(house))["oldest_waiting_seconds"] == 90
            held = (await house.ask("GET", f"{FOLDER}/holds-second")).json
            del held["metadata"]["finalizers"]
            assert (await house.ask("PUT", f"{FOLDER}/holds-second", held)).code == 200
            await house.turns()
            assert (await house.ask("GET", f"{FOLDER}/second")).code == 404
            assert (await figures(house))["oldest_waiting_seconds"] == 30


def test_timeline_knows_when_a_revision_was_told_to_a_tenth_of_a_second() -> None:
    timeline = Timeline()
    assert timeline.age(5, 100.0) == 0
    for step in range(100):
        timeline.note(step, 100 + step * 0.01)
    assert 0.5 <= round(timeline.age(50, 101.0), 6) <= 0.6
    assert timeline.age(0, 101.0) == 1.0  # told before anything was noted
