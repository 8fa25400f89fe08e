"""Pod garbage collection."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.resources import NODES
from probate.controllers.lifecycle import pod_gc
from probate.controllers.workloads.owner_kinds import PODS
from probate.core import errors
from support.workload_cluster import NAMESPACE, WorkloadCluster, condition, name_of, workload_cluster

NOT_READY = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "", "message": ""}]}


async def pod(stage: WorkloadCluster, name: str, node: str = "", **meta: Any) -> Object:
    spec: Object = {"containers": [{"name": "c", "image": "one"}], **({"nodeName": node} if node else {})}
    return await stage.create(PODS, name, spec, **meta)


async def terminated_pod(stage: WorkloadCluster, name: str, *, at: int = 0, phase: str = "Succeeded", **status: Any) -> Object:
    """Creates a pod that terminated so many seconds from now."""
    made = await pod(stage, name, **status.pop("meta", {}))
    when = format_time(stage.server.clock.now() + at)
    state = {"terminated": {"exitCode": 0, "finishedAt": when, "startedAt": when}}
    container = {"name": "c", "image": "one", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    await stage.finish(made, phase=phase, containerStatuses=[container], **status)
    return made


async def names(stage: WorkloadCluster) -> set[str]:
    return {name_of(one) for one in await stage.pods()}


async def has_metric(stage: WorkloadCluster, line: str) -> bool:
    return line in (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()


async def test_pg_7_pods_beyond_the_threshold_are_deleted_and_not_one_more() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=2) as stage:
        for number in range(5):
            await terminated_pod(stage, f"p{number}", at=number)
        await pod(stage, "alive")
        assert await names(stage) == {"p3", "p4", "alive"}
        assert await has_metric(stage, 'pod_gc_collector_force_delete_pods_total{namespace="default",reason="terminated"} 3.0')


@pytest.mark.parametrize("threshold", [0, -1])
async def test_pg_3_no_threshold_keeps_all(threshold: int) -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=threshold) as stage:
        for number in range(3):
            await terminated_pod(stage, f"p{number}")
        assert len(await names(stage)) == 3


async def test_pg_8_order_is_evicted_then_by_termination_then_by_name() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=3) as stage:
        await terminated_pod(stage, "late-in-life", at=50)  # made first, and ended last
        await terminated_pod(stage, "b", at=10)
        await terminated_pod(stage, "a", at=10)
        await terminated_pod(stage, "evicted", at=90, phase="Failed", reason="Evicted")
        assert await names(stage) == {"late-in-life", "a", "b"}
        await terminated_pod(stage, "c", at=20)
        assert await names(stage) == {"late-in-life", "b", "c"}


async def test_pods_with_finalizers_are_neither_counted_nor_deleted() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=1) as stage:
        held = {"finalizers": ["example.com/hold"]}
        await terminated_pod(stage, "held-1", meta=held)
        await terminated_pod(stage, "held-2", meta=held)
        await terminated_pod(stage, "free", at=5)
        assert await names(stage) == {"held-1", "held-2", "free"}
        assert "deletionTimestamp" not in (await stage.get(PODS, "held-1"))["metadata"]
        await stage.change(PODS, "held-1", {"metadata": {"finalizers": None}})
        assert await names(stage) == {"held-2", "free"}


async def test_pg_10_the_threshold_counts_all_namespaces() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=1) as stage:
        await terminated_pod(stage, "here", at=1)
        made = await stage.client.create(
            PODS, "kube-public", {"metadata": {"name": "there"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        )
        await stage.client.patch(PODS, "kube-public", name_of(made), change={"status": {"phase": "Failed"}}, subresource="status")
        await stage.settle()
        assert [name_of(one) for one in (await stage.client.list(PODS)).items] == ["here"]


@pytest.mark.parametrize("effect", ["NoExecute", "NoSchedule", "PreferNoSchedule"])
async def test_pg_11_deleting_pods_on_a_node_out_of_service_are_removed_at_once(effect: str) -> None:
    """All of them (PG-13), without the rest of their grace period (PG-22)."""
    async with workload_cluster("podgc") as stage:
        await stage.node("node", status=NOT_READY)
        for name in ("leaving", "leaving-too"):
            await pod(stage, name, "node")
            await stage.delete(PODS, name)
        await pod(stage, "staying", "node")
        assert await names(stage) == {"leaving", "leaving-too", "staying"}
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": effect}
        await stage.client.patch(NODES, "", "node", change={"spec": {"taints": [taint]}})
        await stage.settle()
        assert await names(stage) == {"staying"}
        assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="out-of-service"} 2.0')


async def test_pg_12_a_node_that_is_ready_is_not_out_of_service() -> None:
    async with workload_cluster("podgc") as stage:
        await stage.node("node", taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}])
        await pod(stage, "leaving", "node")
        await stage.delete(PODS, "leaving")
        assert await names(stage) == {"leaving"}


async def test_pg_14_pods_of_a_missing_node_are_deleted_exactly_after_the_quarantine() -> None:
    """Not up to one poll later. (PG-18)"""
    async with workload_cluster("podgc") as stage:
        await stage.node("node")
        await stage.run(await pod(stage, "a", "node"))
        await pod(stage, "elsewhere")
        await stage.pass_time(100)
        await stage.client.delete(NODES, "", "node")
        await stage.pass_time(39.9)
        assert await names(stage) == {"a", "elsewhere"}
        async with stage.server.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
            await stage.pass_time(0.1)
        assert await names(stage) == {"elsewhere"}
        last = [one["object"] for one in events if one["type"] == "MODIFIED"][-1]
        assert last["status"]["phase"] == "Failed"  # PG-20
        why = condition(last, "DisruptionTarget")  # PG-23
        assert (why["status"], why["reason"]) == ("True", "DeletionByPodGC")
        assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')


async def test_pg_15_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async with workload_cluster("podgc") as stage:
        await pod(stage, "a", "node")
        await stage.pass_time(30)
        await stage.node("node")
        await stage.pass_time(100)
        assert await names(stage) == {"a"}
        await stage.client.delete(NODES, "", "node")
        await stage.pass_time(39)
        assert await names(stage) == {"a"}  # a new quarantine
        await stage.pass_time(1)
        assert await names(stage) == set()


async def test_pg_17_terminated_pods_are_deleted_with_their_node_and_not_changed() -> None:
    async with workload_cluster("podgc") as stage:
        made = await pod(stage, "a", "node")
        await stage.finish(made)
        async with stage.server.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
            await stage.pass_time(40)
        assert await names(stage) == set()
        assert {one["object"]["status"]["phase"] for one in events} == {"Succeeded"}


async def test_pg_19_a_deleting_pod_that_never_had_a_node_is_failed() -> None:
    async with workload_cluster("podgc") as stage:
        await pod(stage, "a", finalizers=["example.com/hold"])
        await stage.delete(PODS, "a")
        await stage.pass_time(18)
        assert (await stage.get(PODS, "a"))["status"]["phase"] == "Pending"
        await stage.pass_time(2)
        found = await stage.get(PODS, "a")
        assert found["status"]["phase"] == "Failed"
        assert condition(found, "DisruptionTarget") == {}
        assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="unscheduled"} 1.0')


async def test_pg_24_a_pod_with_finalizers_is_deleted_only_once() -> None:
    async with workload_cluster("podgc") as stage:
        await pod(stage, "a", "node", finalizers=["example.com/hold"])
        await stage.pass_time(40)
        found = await stage.get(PODS, "a")
        assert found["status"]["phase"] == "Failed"
        assert found["metadata"]["deletionGracePeriodSeconds"] == 0
        await stage.pass_time(3600)
        assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')
        assert await stage.get(PODS, "a") == found


async def test_pg_4_no_events_are_written() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=1) as stage:
        await terminated_pod(stage, "a")
        await terminated_pod(stage, "b")
        assert await stage.event_messages() == []


async def test_pg_1_pg_2_nothing_is_done_before_the_informers_have_synced_and_a_failed_list_is_retried() -> None:
    async with workload_cluster() as stage:
        await pod(stage, "a", "gone")
        with stage.server.line.refuse("GET /api/v1/nodes", errors.StoreUnavailable("not now")):
            async with stage.controllers_running("podgc"):
                await stage.pass_time(100)
                assert await names(stage) == {"a"}
                stage.server.line.stop_refusing()
                await stage.pass_time(41)
                assert await names(stage) == set()


async def test_pg_5_a_pod_without_a_phase_has_not_terminated() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=1) as stage:
        for name in ("a", "b"):
            await pod(stage, name)
            await stage.change(PODS, name, {"status": {"phase": ""}}, part="status")
        assert await names(stage) == {"a", "b"}


async def test_pg_6_deleting_pods_are_neither_counted_nor_deleted_again() -> None:
    async with workload_cluster("podgc", terminated_pod_gc_threshold=1) as stage:
        await stage.node("node")
        for name in ("going", "going-too"):
            made = await pod(stage, name, "node")
            await stage.delete(PODS, name)  # it has its grace period
            await stage.finish(made)
        await terminated_pod(stage, "free", at=5)
        assert await names(stage) == {"going", "going-too", "free"}
        assert not await has_metric(stage, 'reason="terminated"')


async def test_pg_9_more_pods_than_one_batch_are_all_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_gc, "BATCH", 3)
    async with workload_cluster(terminated_pod_gc_threshold=1) as stage:
        for number in range(8):
            await terminated_pod(stage, f"p{number}", at=number)
        async with stage.controllers_running("podgc"):
            assert await names(stage) == {"p7"}


async def test_pg_16_a_stopped_controller_does_nothing_and_a_restarted_one_starts_the_quarantine_anew() -> None:
    async with workload_cluster() as stage:
        await pod(stage, "a", "node")
        async with stage.controllers_running("podgc"):
            await stage.pass_time(30)
        await stage.pass_time(30)
        async with stage.controllers_running("podgc"):
            await stage.pass_time(39)
            assert await names(stage) == {"a"}
            await stage.pass_time(1)
            assert await names(stage) == set()


async def test_pg_21_a_pod_that_cannot_be_changed_is_not_deleted_and_pg_26_both_are_counted() -> None:
    async with workload_cluster("podgc") as stage:
        await pod(stage, "a", "node")
        with stage.server.line.refuse("PATCH .*/pods/a/status", errors.StoreUnavailable("not now")):
            await stage.pass_time(40)
            assert await names(stage) == {"a"}
            assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')
            assert await has_metric(stage, 'force_delete_pod_errors_total{namespace="default",reason="orphaned"} 1.0')
        await stage.pass_time(1)
        assert await names(stage) == set()
        assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 2.0')
        assert await has_metric(stage, 'force_delete_pod_errors_total{namespace="default",reason="orphaned"} 1.0')


async def test_pg_26_a_pod_that_a_client_has_deleted_is_not_a_failure() -> None:
    async with workload_cluster("podgc") as stage:
        await pod(stage, "a", "node")
        with stage.server.line.hold_events("pods"):
            await stage.delete(PODS, "a", grace=0)
            await stage.pass_time(40)
        await stage.settle()
        assert await has_metric(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')
        assert not await has_metric(stage, "force_delete_pod_errors_total{")


async def test_pg_22_another_pod_of_the_same_name_is_not_deleted() -> None:
    async with workload_cluster("podgc") as stage:
        await pod(stage, "a", "node")
        await stage.pass_time(39)
        with stage.server.line.hold_events("pods"):
            await stage.delete(PODS, "a", grace=0)
            another = await pod(stage, "a")
            await stage.pass_time(1)
        await stage.settle()
        assert await stage.get(PODS, "a") == another


async def test_pg_25_a_pod_whose_spec_has_duplicates_is_deleted_too() -> None:
    async with workload_cluster("podgc") as stage:
        twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
        container = {"name": "c", "image": "one", "env": twice}
        spec = {"nodeName": "node", "containers": [container]}
        await stage.create(PODS, "a", spec, finalizers=["example.com/hold"])
        await stage.pass_time(40)
        found = await stage.get(PODS, "a")
        assert (found["status"]["phase"], "deletionTimestamp" in found["metadata"]) == ("Failed", True)
        assert found["spec"]["containers"][0]["env"] == twice
