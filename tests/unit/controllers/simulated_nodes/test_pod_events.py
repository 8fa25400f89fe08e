"""The events that simulated nodes record about their pods."""

from __future__ import annotations

from typing import Any

from probate.controllers.simulated_nodes import pod_events
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import EVENTS, WorkloadCluster, workload_cluster


async def pods(cluster: WorkloadCluster, *names: str, **meta: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": "node-1"}
    for name in names:
        await cluster.create(PODS, name, spec, **meta)


async def test_node_records_start_and_end_of_a_pod() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        await pods(cluster, "a")
        await cluster.pass_time(1)
        assert {reason for reason, _ in await cluster.event_messages("a")} == {"Created", "Pulled", "Started"}
        await cluster.delete(PODS, "a")
        events = await cluster.all(EVENTS)
        assert {event["reason"] for event in events} == {"Created", "Pulled", "Started", "Killing"}
        assert [event["source"] for event in events] == [{"component": "kubelet", "host": "node-1"}] * 4
        assert {(event["reportingComponent"], event["reportingInstance"]) for event in events} == {("kubelet", "node-1")}


async def test_no_events_about_pods_of_other_nodes() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        await cluster.node("real")
        created = await cluster.create(PODS, "a", {"containers": [{"name": "c", "image": "one"}], "nodeName": "real"})
        running = {"name": "c", "image": "one", "imageID": "", "restartCount": 0, "ready": True, "state": {"running": {}}}
        await cluster.change(PODS, "a", {"status": {"containerStatuses": [{**running, "lastState": {}}]}}, part="status")
        await cluster.delete(PODS, created["metadata"]["name"])
        assert await cluster.all(EVENTS) == []


async def test_restarts_increase_event_counts() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        await pods(cluster, "a", annotations={"probate.dev/duration": "1s", "probate.dev/exit-code": "1"})
        await cluster.pass_time(3)
        counts = {event["reason"]: event["count"] for event in await cluster.all(EVENTS)}
        assert counts == {"Created": 2, "Pulled": 2, "Started": 2, "BackOff": 1}


async def test_events_are_rate_limited() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        number = int(pod_events.BURST) // 3 + 20
        await pods(cluster, *(f"p{index}" for index in range(number)))
        await cluster.pass_time(1)
        event_count = len(await cluster.all(EVENTS))
        assert pod_events.BURST - 3 <= event_count <= pod_events.BURST + 2 * pod_events.EVENTS_PER_SECOND
        await cluster.pass_time(60)
        await pods(cluster, "late")
        await cluster.pass_time(1)
        assert len(await cluster.event_messages("late")) == 3
