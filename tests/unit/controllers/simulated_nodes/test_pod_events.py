"""What simulated nodes tell about their pods."""

from __future__ import annotations

from typing import Any

from probate.controllers.simulated_nodes import pod_events
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import EVENTS, Stage, staged


async def pods(stage: Stage, *names: str, **meta: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": "node-1"}
    for name in names:
        await stage.make(PODS, name, spec, **meta)


async def test_people_are_told_of_a_pods_start_and_end_by_its_node() -> None:
    async with staged("simulator", nodes=1) as stage:
        await pods(stage, "a")
        await stage.pass_time(1)
        assert {reason for reason, _ in await stage.told("a")} == {"Created", "Pulled", "Started"}
        await stage.delete(PODS, "a")
        events = await stage.all(EVENTS)
        assert {one["reason"] for one in events} == {"Created", "Pulled", "Started", "Killing"}
        assert [one["source"] for one in events] == [{"component": "kubelet", "host": "node-1"}] * 4
        assert {(one["reportingComponent"], one["reportingInstance"]) for one in events} == {("kubelet", "node-1")}


async def test_nothing_is_told_of_pods_of_other_nodes() -> None:
    async with staged("simulator", nodes=1) as stage:
        await stage.node("real")
        made = await stage.make(PODS, "a", {"containers": [{"name": "c", "image": "one"}], "nodeName": "real"})
        running = {"name": "c", "image": "one", "imageID": "", "restartCount": 0, "ready": True, "state": {"running": {}}}
        await stage.change(PODS, "a", {"status": {"containerStatuses": [{**running, "lastState": {}}]}}, "status")
        await stage.delete(PODS, made["metadata"]["name"])
        assert await stage.all(EVENTS) == []


async def test_containers_that_start_again_are_told_of_again() -> None:
    async with staged("simulator", nodes=1) as stage:
        await pods(stage, "a", annotations={"probate.dev/duration": "1s", "probate.dev/exit-code": "1"})
        await stage.pass_time(3)
        counts = {one["reason"]: one["count"] for one in await stage.all(EVENTS)}
        assert counts == {"Created": 2, "Pulled": 2, "Started": 2, "BackOff": 1}


async def test_of_many_pods_at_once_not_all_is_told() -> None:
    async with staged("simulator", nodes=1) as stage:
        number = int(pod_events.BURST) // 3 + 20
        await pods(stage, *(f"p{one}" for one in range(number)))
        await stage.pass_time(1)
        told = len(await stage.all(EVENTS))
        assert pod_events.BURST - 3 <= told <= pod_events.BURST + 2 * pod_events.A_SECOND
        await stage.pass_time(60)
        await pods(stage, "late")
        await stage.pass_time(1)
        assert len(await stage.told("late")) == 3
