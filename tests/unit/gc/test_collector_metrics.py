"""The collector's metrics."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from probate.controllers.manager import run_all
from probate.controllers.registry import COLLECTOR
from probate.gc.collector import NEW_OBJECT_SECONDS
from probate.gc.collector_metrics import Timeline
from support.in_process_server import INSECURE, FakeClock, InProcessServer, running

FOLDER = "/api/v1/namespaces/default/configmaps"


async def collector_metrics(house: InProcessServer) -> dict[str, float]:
    """Returns the collector's metrics by name and labels."""
    text = (await house.request("GET", "/metrics", accept="text/plain")).body.decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {
        "/".join([one.name.removeprefix("probate_gc_"), *one.labels.values()]): one.value
        for one in samples
        if one.name.startswith("probate_gc_")
    }


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: InProcessServer, name: str, *references: Any, **more: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": references, **more}})


async def test_actions_are_counted() -> None:
    async with running(clock=FakeClock(), collects=False) as house, run_all(house.api, house.clock, [COLLECTOR], settings=INSECURE):
        owner, keeper = await make(house, "owner"), await make(house, "keeper")
        await make(house, "child", reference(owner, blockOwnerDeletion=True))
        await make(house, "shared", reference(owner), reference(keeper))
        await house.request("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        await house.yield_to_loop()
        found = await collector_metrics(house)
        assert {name: value for name, value in found.items() if name.startswith("actions")} == {
            "actions_total/delete": 1,
            "actions_total/drop": 1,
            "actions_total/release": 1,
        }
        assert (found["following"], found["lag_revisions"]) == (1, 0)


async def test_queue_length_and_age_grow_until_the_work_is_due() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house, run_all(house.api, clock, [COLLECTOR], settings=INSECURE):
        await make(house, "child", reference(await make(house, "owner")))
        await house.yield_to_loop()
        await clock.advance(NEW_OBJECT_SECONDS / 2)
        found = await collector_metrics(house)
        assert (found["queue_length"], round(found["oldest_work_seconds"], 4)) == (1, NEW_OBJECT_SECONDS / 2)
        await clock.advance(NEW_OBJECT_SECONDS)
        await house.yield_to_loop()
        found = await collector_metrics(house)
        assert (found["queue_length"], found["oldest_work_seconds"]) == (0, 0)


async def test_lag_is_the_revisions_that_have_not_reached_the_collector() -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        async with run_all(house.api, house.clock, [COLLECTOR], settings=INSECURE):
            await house.yield_to_loop()
            assert (await collector_metrics(house))["lag_revisions"] == 0
        for number in range(3):
            await make(house, f"more-{number}")
        found = await collector_metrics(house)
        assert (found["lag_revisions"], found["following"]) == (3, 0)


async def test_age_of_the_oldest_waiting_owner_survives_a_restart() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        first, second = await make(house, "first"), await make(house, "second")
        await make(house, "holds-first", reference(first, blockOwnerDeletion=True), finalizers=["example.com/hold"])
        await make(house, "holds-second", reference(second, blockOwnerDeletion=True), finalizers=["example.com/hold"])
        assert (await collector_metrics(house))["oldest_waiting_seconds"] == 0
        await house.request("DELETE", f"{FOLDER}/second", {"propagationPolicy": "Foreground"})
        await clock.advance(60)
        await house.request("DELETE", f"{FOLDER}/first", {"propagationPolicy": "Foreground"})
        await clock.advance(30)
        assert (await collector_metrics(house))["oldest_waiting_seconds"] == 90
        async with run_all(house.api, clock, [COLLECTOR], settings=INSECURE):
            await house.yield_to_loop()
            assert (await collector_metrics(house))["oldest_waiting_seconds"] == 90
            held = (await house.request("GET", f"{FOLDER}/holds-second")).json
            del held["metadata"]["finalizers"]
            assert (await house.request("PUT", f"{FOLDER}/holds-second", held)).code == 200
            await house.yield_to_loop()
            assert (await house.request("GET", f"{FOLDER}/second")).code == 404
            assert (await collector_metrics(house))["oldest_waiting_seconds"] == 30


def test_timeline_is_accurate_to_a_tenth_of_a_second() -> None:
    timeline = Timeline()
    assert timeline.age(5, 100.0) == 0
    for step in range(100):
        timeline.add(step, 100 + step * 0.01)
    assert 0.5 <= round(timeline.age(50, 101.0), 6) <= 0.6
    assert timeline.age(0, 101.0) == 1.0  # told before anything was noted
