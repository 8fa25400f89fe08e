"""Pods are evicted from nodes with taints that they do not tolerate, or not any longer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import WorkloadCluster, condition, workload_cluster

TAINT = {"key": "bad", "effect": "NoExecute"}


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("evictions") as one:
        await one.node("node")
        yield one


async def pod(stage: WorkloadCluster, name: str, *tolerations: Object, node: str = "node") -> Object:
    spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": node, "tolerations": list(tolerations)}
    made = await stage.create(PODS, name, spec)
    await stage.run(made)
    return made


async def taint(stage: WorkloadCluster, *taints: Object, node: str = "node") -> None:
    await stage.client.patch(NODES, "", node, change={"spec": {"taints": list(taints)}})
    await stage.settle()


async def is_evicted(stage: WorkloadCluster, name: str) -> bool:
    return "deletionTimestamp" in (await stage.get(PODS, name))["metadata"]


def tolerating(seconds: int | None = None, **more: Any) -> Object:
    return {
        "key": "bad",
        "operator": "Exists",
        "effect": "NoExecute",
        **({} if seconds is None else {"tolerationSeconds": seconds}),
        **more,
    }


async def test_te_1_a_pod_without_a_toleration_is_evicted_at_once(stage: WorkloadCluster) -> None:
    await pod(stage, "a")
    await pod(stage, "forever", tolerating())
    await taint(stage, TAINT)
    assert await is_evicted(stage, "a")
    assert not await is_evicted(stage, "forever")
    await stage.pass_time(10_000)
    assert not await is_evicted(stage, "forever")


async def test_te_1_a_pod_stays_exactly_as_long_as_it_tolerates_all_taints(stage: WorkloadCluster) -> None:
    other = {"key": "worse", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
    await pod(stage, "a", tolerating(60), other)
    await taint(stage, TAINT, {"key": "worse", "effect": "NoExecute"})
    await stage.pass_time(19.9)
    assert not await is_evicted(stage, "a")
    await stage.pass_time(0.1)
    assert await is_evicted(stage, "a")


@pytest.mark.parametrize("seconds", [0, -5])
async def test_te_1_no_toleration_seconds_means_now(stage: WorkloadCluster, seconds: int) -> None:
    await pod(stage, "a", tolerating(seconds))
    await taint(stage, TAINT)
    assert await is_evicted(stage, "a")


async def test_te_1_a_pod_may_stay_when_the_taints_are_gone(stage: WorkloadCluster) -> None:
    await pod(stage, "a", tolerating(60))
    await taint(stage, TAINT)
    await stage.pass_time(30)
    await taint(stage)
    await stage.pass_time(100)
    assert not await is_evicted(stage, "a")
    assert await stage.event_messages("a") == [("TaintManagerEviction", "Cancelling deletion of Pod default/a")]


async def test_te_1_toleration_seconds_count_from_the_first_taint(stage: WorkloadCluster) -> None:
    await pod(stage, "a", tolerating(60), tolerating(40, key="worse"))
    await taint(stage, TAINT)
    await stage.pass_time(30)
    await taint(stage, TAINT, {"key": "worse", "effect": "NoExecute"})
    await stage.pass_time(9.9)
    assert not await is_evicted(stage, "a")
    await stage.pass_time(0.1)
    assert await is_evicted(stage, "a")


async def test_te_2_an_evicted_pod_has_a_condition_and_keeps_its_grace_period(stage: WorkloadCluster) -> None:
    await pod(stage, "a")
    await taint(stage, TAINT)
    found = await stage.get(PODS, "a")
    why = condition(found, "DisruptionTarget")
    assert (why["status"], why["reason"]) == ("True", "DeletionByTaintManager")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    assert await stage.event_messages("a") == [("TaintManagerEviction", "Marking for deletion Pod default/a")]


async def test_te_3_pods_of_an_unreachable_node_are_evicted_after_five_minutes() -> None:
    async with workload_cluster("nodes", "evictions") as stage:
        await stage.node("lost")
        await stage.node("well")
        await pod(stage, "a", node="lost")
        for _ in range(5 + 29):  # until the node is lost, and almost five minutes
            await say(stage, "well")
            await stage.pass_time(10)
        await say(stage, "well")
        await stage.pass_time(9.9)
        assert not await is_evicted(stage, "a")
        await stage.pass_time(0.1)
        assert await is_evicted(stage, "a")


async def say(stage: WorkloadCluster, name: str) -> None:
    beat = f"2030-01-01T00:00:{int(stage.server.clock.now()) % 60:02d}Z"
    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": beat, "reason": "", "message": ""}]
    await stage.client.patch(NODES, "", name, change={"status": {"conditions": conditions}}, subresource="status")


async def test_te_4_evictions_are_counted(stage: WorkloadCluster) -> None:
    await pod(stage, "a")
    await taint(stage, TAINT)
    shown = (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()
    assert "taint_eviction_controller_pod_deletions_total 1.0" in shown
    assert "taint_eviction_controller_pod_deletion_duration_seconds_count 1.0" in shown


async def test_deadlines_remain_when_the_node_object_is_gone(stage: WorkloadCluster) -> None:
    await pod(stage, "a", tolerating(60))
    await taint(stage, TAINT)
    await stage.client.delete(NODES, "", "node")
    await stage.pass_time(59)
    assert not await is_evicted(stage, "a")
    await stage.pass_time(1)
    assert await is_evicted(stage, "a")
