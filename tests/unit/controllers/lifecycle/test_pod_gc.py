"""Pods that nobody will end or look at any more."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.timestamps import timestamp
from probate.client.resources import NODES
from probate.controllers.lifecycle import pod_gc
from probate.controllers.workloads.owner_kinds import PODS
from probate.core import errors
from support.workload_cluster import NAMESPACE, Object, Stage, condition, name_of, staged

NOT_READY = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "", "message": ""}]}


async def pod(stage: Stage, name: str, node: str = "", **meta: Any) -> Object:
    spec: Object = {"containers": [{"name": "c", "image": "one"}], **({"nodeName": node} if node else {})}
    return await stage.make(PODS, name, spec, **meta)


async def ended(stage: Stage, name: str, *, at: int = 0, phase: str = "Succeeded", **status: Any) -> Object:
    """A pod that ended so many seconds from now."""
    made = await pod(stage, name, **status.pop("meta", {}))
    when = timestamp(stage.cluster.clock.now() + at)
    state = {"terminated": {"exitCode": 0, "finishedAt": when, "startedAt": when}}
    container = {"name": "c", "image": "one", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    await stage.end(made, phase=phase, containerStatuses=[container], **status)
    return made


async def names(stage: Stage) -> set[str]:
    return {name_of(one) for one in await stage.pods()}


async def figure(stage: Stage, line: str) -> bool:
    return line in (await stage.cluster.ask("GET", "/metrics", accept="text/plain")).body.decode()


async def test_pg_7_those_over_the_threshold_go_and_not_one_more() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=2) as stage:
        for number in range(5):
            await ended(stage, f"p{number}", at=number)
        await pod(stage, "alive")
        assert await names(stage) == {"p3", "p4", "alive"}
        assert await figure(stage, 'pod_gc_collector_force_delete_pods_total{namespace="default",reason="terminated"} 3.0')


@pytest.mark.parametrize("threshold", [0, -1])
async def test_pg_3_no_threshold_keeps_all(threshold: int) -> None:
    async with staged("podgc", terminated_pod_gc_threshold=threshold) as stage:
        for number in range(3):
            await ended(stage, f"p{number}")
        assert len(await names(stage)) == 3


async def test_pg_8_evicted_pods_go_first_then_those_that_ended_first_then_by_name() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=3) as stage:
        await ended(stage, "late-in-life", at=50)  # made first, and ended last
        await ended(stage, "b", at=10)
        await ended(stage, "a", at=10)
        await ended(stage, "evicted", at=90, phase="Failed", reason="Evicted")
        assert await names(stage) == {"late-in-life", "a", "b"}
        await ended(stage, "c", at=20)
        assert await names(stage) == {"late-in-life", "b", "c"}


async def test_pods_that_finalizers_hold_are_neither_counted_nor_deleted() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=1) as stage:
        held = {"finalizers": ["example.com/hold"]}
        await ended(stage, "held-1", meta=held)
        await ended(stage, "held-2", meta=held)
        await ended(stage, "free", at=5)
        assert await names(stage) == {"held-1", "held-2", "free"}
        assert "deletionTimestamp" not in (await stage.get(PODS, "held-1"))["metadata"]
        await stage.change(PODS, "held-1", {"metadata": {"finalizers": None}})
        assert await names(stage) == {"held-2", "free"}


async def test_pg_10_the_count_is_of_all_namespaces() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=1) as stage:
        await ended(stage, "here", at=1)
        made = await stage.client.create(
            PODS, "kube-public", {"metadata": {"name": "there"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        )
        await stage.client.patch(PODS, "kube-public", name_of(made), {"status": {"phase": "Failed"}}, "status")
        await stage.settle()
        assert [name_of(one) for one in (await stage.client.list(PODS)).items] == ["here"]


@pytest.mark.parametrize("effect", ["NoExecute", "NoSchedule", "PreferNoSchedule"])
async def test_pg_11_pods_that_go_on_a_node_out_of_service_are_gone_at_once(effect: str) -> None:
    """All of them together (PG-13), without the grace period that they still had (PG-22)."""
    async with staged("podgc") as stage:
        await stage.node("node", status=NOT_READY)
        for name in ("leaving", "leaving-too"):
            await pod(stage, name, "node")
            await stage.delete(PODS, name)
        await pod(stage, "staying", "node")
        assert await names(stage) == {"leaving", "leaving-too", "staying"}
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": effect}
        await stage.client.patch(NODES, "", "node", {"spec": {"taints": [taint]}})
        await stage.settle()
        assert await names(stage) == {"staying"}
        assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="out-of-service"} 2.0')


async def test_pg_12_a_node_that_is_ready_is_not_out_of_service() -> None:
    async with staged("podgc") as stage:
        await stage.node("node", taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}])
        await pod(stage, "leaving", "node")
        await stage.delete(PODS, "leaving")
        assert await names(stage) == {"leaving"}


async def test_pg_14_pods_of_a_node_that_is_gone_go_after_exactly_the_quarantine() -> None:
    """Not a round later. (PG-18)"""
    async with staged("podgc") as stage:
        await stage.node("node")
        await stage.run(await pod(stage, "a", "node"))
        await pod(stage, "elsewhere")
        await stage.pass_time(100)
        await stage.client.delete(NODES, "", "node")
        await stage.pass_time(39.9)
        assert await names(stage) == {"a", "elsewhere"}
        async with stage.cluster.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
            await stage.pass_time(0.1)
        assert await names(stage) == {"elsewhere"}
        last = [one["object"] for one in events if one["type"] == "MODIFIED"][-1]
        assert last["status"]["phase"] == "Failed"  # PG-20
        why = condition(last, "DisruptionTarget")  # PG-23
        assert (why["status"], why["reason"]) == ("True", "DeletionByPodGC")
        assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')


async def test_pg_15_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async with staged("podgc") as stage:
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


async def test_pg_17_pods_that_have_ended_go_with_their_node_and_are_not_changed() -> None:
    async with staged("podgc") as stage:
        made = await pod(stage, "a", "node")
        await stage.end(made)
        async with stage.cluster.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
            await stage.pass_time(40)
        assert await names(stage) == set()
        assert {one["object"]["status"]["phase"] for one in events} == {"Succeeded"}


async def test_pg_19_a_pod_that_goes_and_never_had_a_node_has_failed() -> None:
    async with staged("podgc") as stage:
        await pod(stage, "a", finalizers=["example.com/hold"])
        await stage.delete(PODS, "a")
        await stage.pass_time(18)
        assert (await stage.get(PODS, "a"))["status"]["phase"] == "Pending"
        await stage.pass_time(2)
        found = await stage.get(PODS, "a")
        assert found["status"]["phase"] == "Failed"
        assert condition(found, "DisruptionTarget") == {}
        assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="unscheduled"} 1.0')


async def test_pg_24_a_held_pod_is_deleted_once_and_not_again_and_again() -> None:
    async with staged("podgc") as stage:
        await pod(stage, "a", "node", finalizers=["example.com/hold"])
        await stage.pass_time(40)
        found = await stage.get(PODS, "a")
        assert found["status"]["phase"] == "Failed"
        assert found["metadata"]["deletionGracePeriodSeconds"] == 0
        await stage.pass_time(3600)
        assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')
        assert await stage.get(PODS, "a") == found


async def test_pg_4_nobody_is_told() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=1) as stage:
        await ended(stage, "a")
        await ended(stage, "b")
        assert await stage.told() == []


async def test_pg_1_pg_2_nothing_is_done_before_all_is_known_and_a_list_that_fails_is_asked_for_again() -> None:
    async with staged() as stage:
        await pod(stage, "a", "gone")
        with stage.cluster.line.refusing("GET /api/v1/nodes", errors.StoreUnavailable("not now")):
            async with stage.working("podgc"):
                await stage.pass_time(100)
                assert await names(stage) == {"a"}
                stage.cluster.line.let_all_pass()
                await stage.pass_time(41)
                assert await names(stage) == set()


async def test_pg_5_a_pod_without_a_phase_has_not_ended() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=1) as stage:
        for name in ("a", "b"):
            await pod(stage, name)
            await stage.change(PODS, name, {"status": {"phase": ""}}, "status")
        assert await names(stage) == {"a", "b"}


async def test_pg_6_pods_that_are_going_are_neither_counted_nor_deleted_again() -> None:
    async with staged("podgc", terminated_pod_gc_threshold=1) as stage:
        await stage.node("node")
        for name in ("going", "going-too"):
            made = await pod(stage, name, "node")
            await stage.delete(PODS, name)  # it has its grace period
            await stage.end(made)
        await ended(stage, "free", at=5)
        assert await names(stage) == {"going", "going-too", "free"}
        assert not await figure(stage, 'reason="terminated"')


async def test_pg_9_more_than_go_together_all_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_gc, "AT_ONCE", 3)
    async with staged(terminated_pod_gc_threshold=1) as stage:
        for number in range(8):
            await ended(stage, f"p{number}", at=number)
        async with stage.working("podgc"):
            assert await names(stage) == {"p7"}


async def test_pg_16_who_is_stopped_does_nothing_more_and_who_begins_anew_counts_anew() -> None:
    async with staged() as stage:
        await pod(stage, "a", "node")
        async with stage.working("podgc"):
            await stage.pass_time(30)
        await stage.pass_time(30)
        async with stage.working("podgc"):
            await stage.pass_time(39)
            assert await names(stage) == {"a"}
            await stage.pass_time(1)
            assert await names(stage) == set()


async def test_pg_21_a_pod_that_cannot_be_changed_is_not_deleted_and_pg_26_both_are_counted() -> None:
    async with staged("podgc") as stage:
        await pod(stage, "a", "node")
        with stage.cluster.line.refusing("PATCH .*/pods/a/status", errors.StoreUnavailable("not now")):
            await stage.pass_time(40)
            assert await names(stage) == {"a"}
            assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')
            assert await figure(stage, 'force_delete_pod_errors_total{namespace="default",reason="orphaned"} 1.0')
        await stage.pass_time(1)
        assert await names(stage) == set()
        assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 2.0')
        assert await figure(stage, 'force_delete_pod_errors_total{namespace="default",reason="orphaned"} 1.0')


async def test_pg_26_a_pod_that_somebody_else_has_deleted_is_no_failure() -> None:
    async with staged("podgc") as stage:
        await pod(stage, "a", "node")
        with stage.cluster.line.holding("pods"):
            await stage.delete(PODS, "a", grace=0)
            await stage.pass_time(40)
        await stage.settle()
        assert await figure(stage, 'force_delete_pods_total{namespace="default",reason="orphaned"} 1.0')
        assert not await figure(stage, "force_delete_pod_errors_total{")


async def test_pg_22_another_pod_that_has_the_name_by_now_is_not_hit() -> None:
    async with staged("podgc") as stage:
        await pod(stage, "a", "node")
        await stage.pass_time(39)
        with stage.cluster.line.holding("pods"):
            await stage.delete(PODS, "a", grace=0)
            another = await pod(stage, "a")
            await stage.pass_time(1)
        await stage.settle()
        assert await stage.get(PODS, "a") == another


async def test_pg_25_a_pod_whose_spec_repeats_itself_goes_too() -> None:
    async with staged("podgc") as stage:
        twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
        container = {"name": "c", "image": "one", "env": twice}
        spec = {"nodeName": "node", "containers": [container]}
        await stage.make(PODS, "a", spec, finalizers=["example.com/hold"])
        await stage.pass_time(40)
        found = await stage.get(PODS, "a")
        assert (found["status"]["phase"], "deletionTimestamp" in found["metadata"]) == ("Failed", True)
        assert found["spec"]["containers"][0]["env"] == twice
