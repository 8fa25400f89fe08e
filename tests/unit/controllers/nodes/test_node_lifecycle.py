"""Node health: heartbeats, conditions, taints and eviction rates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.objects import GroupVersionResource
from probate.client.resources import LEASES, NODES
from probate.controllers.nodes.node_health import Disruption, EvictionRates, Zone
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import WorkloadCluster, condition, workload_cluster

EVENTS = GroupVersionResource("", "v1", "events")
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("nodes") as one:
        yield one


async def node(stage: WorkloadCluster, name: str) -> Object:
    found = await stage.client.get(NODES, "", name)
    assert found is not None
    return found


async def taints(stage: WorkloadCluster, name: str) -> set[tuple[str, str]]:
    return {(one["key"], one["effect"]) for one in (await node(stage, name))["spec"].get("taints") or []}


async def report_status(stage: WorkloadCluster, name: str, ready: str = "True", **more: str) -> None:
    """Writes the node's Ready condition, as a kubelet does."""
    now = format_time(stage.server.clock.now())
    conditions = [
        {"type": type_, "status": status, "lastHeartbeatTime": now, "reason": "", "message": ""}
        for type_, status in {"Ready": ready, **more}.items()
    ]
    await stage.client.patch(NODES, "", name, change={"status": {"conditions": conditions}}, subresource="status")
    await stage.settle()


async def renew(stage: WorkloadCluster, name: str) -> None:
    """Renews the node's Lease, as a kubelet does."""
    spec = {
        "renewTime": f"{format_time(stage.server.clock.now())[:-1]}.000000Z",
        "holderIdentity": name,
        "leaseDurationSeconds": 40,
    }
    if await stage.client.get(LEASES, "kube-node-lease", name) is None:
        await stage.client.create(LEASES, "kube-node-lease", {"metadata": {"name": name}, "spec": spec})
    else:
        await stage.client.patch(LEASES, "kube-node-lease", name, change={"spec": spec})
    await stage.settle()


async def pass_time_with_heartbeats(stage: WorkloadCluster, seconds: float, *names: str) -> None:
    """Lets time pass while these nodes renew their Leases."""
    for _ in range(int(seconds // 10)):
        for name in names:
            await renew(stage, name)
        await stage.pass_time(10)


async def events(stage: WorkloadCluster, about: str) -> list[str]:
    events = (await stage.client.list(EVENTS)).items
    return [one["reason"] for one in events if one["involvedObject"]["name"] == about]


async def test_node_1_events_report_added_and_removed_nodes(stage: WorkloadCluster) -> None:
    await stage.node("one")
    assert await events(stage, "one") == ["RegisteredNode"]
    await stage.client.delete(NODES, "", "one")
    await stage.settle()
    assert sorted(await events(stage, "one")) == ["RegisteredNode", "RemovingNode"]


@pytest.mark.parametrize("sign", [report_status, renew])
async def test_node_2_a_status_or_a_lease_is_a_heartbeat(stage: WorkloadCluster, sign: Any) -> None:
    await stage.node("one")
    await stage.pass_time(49)
    await sign(stage, "one")
    await stage.pass_time(49)
    assert condition(await node(stage, "one"), "Ready")["status"] == "True"
    await stage.pass_time(1)
    assert condition(await node(stage, "one"), "Ready")["status"] == "Unknown"


async def test_node_3_a_node_without_heartbeats_is_unknown_exactly_after_the_grace_period(stage: WorkloadCluster) -> None:
    await stage.node("one")
    await report_status(stage, "one", NetworkUnavailable="False")
    await stage.pass_time(49.9)
    assert condition(await node(stage, "one"), "Ready")["status"] == "True"
    await stage.pass_time(0.1)
    found = await node(stage, "one")
    assert (condition(found, "Ready")["status"], condition(found, "Ready")["reason"]) == ("Unknown", "NodeStatusUnknown")
    for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        assert (condition(found, type_)["status"], condition(found, type_)["reason"]) == ("Unknown", "NodeStatusNeverUpdated")
    assert condition(found, "NetworkUnavailable")["status"] == "False"


async def test_node_3_a_node_that_never_reported_has_a_minute(stage: WorkloadCluster) -> None:
    await stage.client.create(NODES, "", {"metadata": {"name": "one"}})
    await stage.pass_time(59.9)
    assert condition(await node(stage, "one"), "Ready") == {}
    await stage.pass_time(0.1)
    assert condition(await node(stage, "one"), "Ready")["reason"] == "NodeStatusNeverUpdated"


async def test_node_4_an_unreachable_node_is_tainted_while_others_are_ready(stage: WorkloadCluster) -> None:
    await stage.node("lost")
    await stage.node("well")
    await pass_time_with_heartbeats(stage, 50, "well")
    assert await taints(stage, "lost") == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert await taints(stage, "well") == set()
    [taint] = [one for one in (await node(stage, "lost"))["spec"]["taints"] if one["effect"] == "NoExecute"]
    assert taint["timeAdded"] == format_time(stage.server.clock.now())


async def test_node_4_a_node_that_reports_not_ready_has_the_other_taint_at_once(stage: WorkloadCluster) -> None:
    await stage.node("lost")
    await stage.node("well")
    await pass_time_with_heartbeats(stage, 50, "well")
    await report_status(stage, "lost", ready="False")
    assert await taints(stage, "lost") == {(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")}


async def test_node_4_nodes_are_tainted_one_after_the_other(stage: WorkloadCluster) -> None:
    for name in ("a", "b", "well-1", "well-2"):
        await stage.node(name)

    async def tainted() -> int:
        found = [await taints(stage, name) for name in ("a", "b")]
        return sum((UNREACHABLE, "NoExecute") in one for one in found)

    await pass_time_with_heartbeats(stage, 50, "well-1", "well-2")
    assert await tainted() == 1
    await renew(stage, "well-1")
    await renew(stage, "well-2")
    await stage.pass_time(9.9)
    assert await tainted() == 1
    await stage.pass_time(0.1)
    assert await tainted() == 2


async def test_node_4_no_node_is_tainted_when_all_are_unready(stage: WorkloadCluster) -> None:
    await stage.node("one")
    await stage.node("two")
    await stage.pass_time(120)
    assert await taints(stage, "one") == {(UNREACHABLE, "NoSchedule")}
    assert await taints(stage, "two") == {(UNREACHABLE, "NoSchedule")}
    await renew(stage, "two")
    await report_status(stage, "two")
    assert await taints(stage, "one") == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}


def test_node_4_eviction_rate_of_a_disrupted_zone() -> None:
    rates = EvictionRates(normal=0.1, secondary=0.01, large_threshold=50, unhealthy_threshold=0.55)
    assert Zone(10, 2).disruption(0.55) is Disruption.NORMAL
    assert Zone(3, 2).disruption(0.55) is Disruption.NORMAL  # more than two have to be unready
    assert Zone(10, 6).disruption(0.55) is Disruption.PARTIAL
    assert Zone(10, 10).disruption(0.55) is Disruption.FULL
    assert Zone(10, 2).eviction_rate(rates) == 0.1
    assert Zone(50, 30).eviction_rate(rates) == 0.0
    assert Zone(51, 30).eviction_rate(rates) == 0.01
    assert Zone(10, 10).eviction_rate(rates) == 0.1


async def test_node_4_excluded_nodes_do_not_count_in_their_zone(stage: WorkloadCluster) -> None:
    await stage.node("lost")
    await stage.node("exempt", labels={"node.kubernetes.io/exclude-disruption": ""})
    await pass_time_with_heartbeats(stage, 50, "exempt")
    assert await taints(stage, "lost") == {(UNREACHABLE, "NoSchedule")}  # all that count are away


async def test_node_5_a_recovered_node_has_no_taints(stage: WorkloadCluster) -> None:
    await stage.node("lost")
    await stage.node("well")
    await pass_time_with_heartbeats(stage, 50, "well")
    await report_status(stage, "lost")
    assert await taints(stage, "lost") == set()


async def test_node_6_pods_of_a_node_that_is_not_ready_are_not_ready(stage: WorkloadCluster) -> None:
    await stage.node("lost")
    pod = await stage.create(PODS, "a", {"containers": [{"name": "c", "image": "one"}], "nodeName": "lost"})
    await stage.run(pod)
    await stage.pass_time(50)
    assert condition(await stage.get(PODS, "a"), "Ready")["status"] == "False"
    assert "NodeNotReady" in await events(stage, "lost")
    assert await stage.event_messages("a") == [("NodeNotReady", "Node is not ready")]


async def test_node_7_taints_mirror_conditions(stage: WorkloadCluster) -> None:
    await stage.node("one", taints=[{"key": "mine", "effect": "NoSchedule"}, {"key": NOT_READY, "effect": "NoSchedule"}])
    assert await taints(stage, "one") == {("mine", "NoSchedule")}
    await report_status(stage, "one", MemoryPressure="True", DiskPressure="True", PIDPressure="True", NetworkUnavailable="True")
    await stage.client.patch(NODES, "", "one", change={"spec": {"unschedulable": True}})
    await stage.settle()
    kept = {"memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable", "unschedulable"}
    assert await taints(stage, "one") == {("mine", "NoSchedule"), *((f"node.kubernetes.io/{one}", "NoSchedule") for one in kept)}
    await report_status(stage, "one")
    await stage.client.patch(NODES, "", "one", change={"spec": {"unschedulable": None}})
    await stage.settle()
    assert await taints(stage, "one") == {("mine", "NoSchedule")}


async def test_the_grace_period_can_be_set() -> None:
    async with workload_cluster("nodes", node_monitor_grace_period=5.0) as stage:
        await stage.node("one")
        await stage.pass_time(5)
        assert condition(await node(stage, "one"), "Ready")["status"] == "Unknown"


async def test_metrics_of_zones(stage: WorkloadCluster) -> None:
    await stage.node("lost")
    await stage.node("well")
    await pass_time_with_heartbeats(stage, 50, "well")
    shown = (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()
    assert 'node_collector_zone_size{zone=":"} 2.0' in shown
    assert 'node_collector_unhealthy_nodes_in_zone{zone=":"} 1.0' in shown
    assert 'node_collector_zone_health{zone=":"} 50.0' in shown
    assert 'node_collector_evictions_total{zone=":"} 1.0' in shown
