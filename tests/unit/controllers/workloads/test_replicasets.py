"""ReplicaSets and ReplicationControllers: RS-1 to RS-5, OWN-1, OWN-2, and their status."""

from __future__ import annotations

from typing import Any

import pytest

from probate.client.objects import GroupVersionResource
from probate.controllers.workloads import slow_start
from probate.controllers.workloads.owner_kinds import PODS
from probate.core import errors
from support.workload_cluster import (
    CONTROLLERS,
    EVENTS,
    LABELS,
    NAMESPACE,
    REPLICA_SETS,
    condition,
    name_of,
    owners_of,
    replicas_of,
    template,
    workload_cluster,
)

KINDS = [("replicasets", REPLICA_SETS, {"matchLabels": LABELS}), ("replicationcontrollers", CONTROLLERS, LABELS)]
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
IDS = ["ReplicaSet", "ReplicationController"]


@pytest.mark.parametrize(("controller", "kind", "selector"), KINDS, ids=IDS)
async def test_pods_are_created_and_deleted_up_to_the_desired_number(
    controller: str, kind: GroupVersionResource, selector: Any
) -> None:
    async with workload_cluster(controller) as cluster:
        owner = await cluster.create(kind, "web", replicas_of(3, selector=selector))
        assert len(await cluster.pods(owner)) == 3
        await cluster.change(kind, "web", {"spec": {"replicas": 5}})
        assert len(await cluster.pods(owner)) == 5
        await cluster.change(kind, "web", {"spec": {"replicas": 1}})
        assert len(await cluster.pods(owner)) == 1
        assert (await cluster.get(kind, "web"))["status"]["replicas"] == 1


@pytest.mark.parametrize(("controller", "kind", "selector"), KINDS, ids=IDS)
async def test_own_1_pods_have_one_controller_which_they_block(controller: str, kind: GroupVersionResource, selector: Any) -> None:
    """Their owner reference blocks foreground deletion (C-5)."""
    async with workload_cluster(controller) as cluster:
        owner = await cluster.create(kind, "web", replicas_of(1, selector=selector))
        [pod] = await cluster.pods()
        [reference] = pod["metadata"]["ownerReferences"]
        version = {"replicasets": "apps/v1", "replicationcontrollers": "v1"}[controller]
        assert reference == {
            "apiVersion": version,
            "kind": IDS[["replicasets", "replicationcontrollers"].index(controller)],
            "name": "web",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }


async def test_own_2_pod_has_its_template_and_a_name_derived_from_its_owner() -> None:
    async with workload_cluster("replicasets") as cluster:
        pod_template = template(nodeSelector={"disk": "fast"})
        pod_template["metadata"] |= {"annotations": {"note": "x"}, "finalizers": ["e.com/x"], "name": "ignored"}
        await cluster.create(REPLICA_SETS, "web", replicas_of(1, template=pod_template))
        [pod] = await cluster.pods()
        meta = pod["metadata"]
        assert (meta["generateName"], meta["labels"], meta["annotations"]) == ("web-", LABELS, {"note": "x"})
        assert (meta["finalizers"], pod["spec"]["nodeSelector"]) == (["e.com/x"], {"disk": "fast"})
        assert meta["name"].startswith("web-")
        assert meta["name"] != "web-"


async def test_own_2_pod_names_of_a_long_owner_name_are_truncated() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "w" * 253, replicas_of(1))
        [pod] = await cluster.pods(owner)
        assert len(name_of(pod)) == 63


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_rs_1_finished_pod_is_replaced_and_kept(phase: str) -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        [pod] = await cluster.pods()
        await cluster.finish(pod, phase=phase)
        assert len(await cluster.pods(owner)) == 2
        assert owners_of(await cluster.get(PODS, name_of(pod))) == [owner["metadata"]["uid"]]


async def test_rs_1_finished_or_deleting_pods_are_neither_adopted_nor_released() -> None:
    """Such pods are not active. (C-6)"""
    async with workload_cluster("replicasets") as cluster:
        finished, deleting = await cluster.pod("ended"), await cluster.pod("leaving", finalizers=["e.com/x"])
        await cluster.finish(finished)
        await cluster.delete(PODS, "leaving")
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        assert [owners_of(await cluster.get(PODS, name_of(pod))) for pod in (finished, deleting)] == [[], []]
        [pod] = await cluster.pods(owner)
        await cluster.finish(pod)
        await cluster.change(PODS, name_of(pod), {"metadata": {"labels": {"app": "other"}}})
        assert owners_of(await cluster.get(PODS, name_of(pod))) == [owner["metadata"]["uid"]]


async def test_rs_1_pod_with_pending_finalizers_does_not_delay_its_replacement() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        [pod] = await cluster.pods()
        await cluster.change(PODS, name_of(pod), {"metadata": {"finalizers": ["e.com/x"]}})
        await cluster.delete(PODS, name_of(pod))
        assert len(await cluster.pods(owner)) == 2
        status = (await cluster.get(REPLICA_SETS, "web"))["status"]
        assert (status["replicas"], status["terminatingReplicas"]) == (1, 1)


@pytest.mark.parametrize(("controller", "kind", "selector"), KINDS, ids=IDS)
async def test_rs_2_owner_that_is_being_deleted_creates_and_deletes_no_pods(
    controller: str, kind: GroupVersionResource, selector: Any
) -> None:
    async with workload_cluster(controller) as cluster:
        owner = await cluster.create(kind, "web", replicas_of(2, selector=selector), finalizers=["e.com/hold"])
        await cluster.delete(kind, "web", "Background")
        [pod, _] = await cluster.pods(owner)
        await cluster.delete(PODS, name_of(pod))
        assert len(await cluster.pods(owner)) == 1, "a pod was created for an owner that is being deleted"
        current = await cluster.get(kind, "web")
        assert (current["status"]["replicas"], current["status"]["observedGeneration"]) == (1, current["metadata"]["generation"])
        await cluster.change(kind, "web", {"spec": {"replicas": 0}})
        assert len(await cluster.pods(owner)) == 1, "a pod was deleted for an owner that is being deleted"


async def test_rs_3_new_orphan_enqueues_owners_whose_selector_matches() -> None:
    async with workload_cluster("replicasets") as cluster:
        await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        await cluster.pod("surplus")
        assert len(await cluster.pods()) == 1, "the new pod was not counted"
        await cluster.pod("stranger", labels={"app": "other"})
        assert len(await cluster.pods()) == 2


async def test_rs_3_orphan_with_changed_labels_enqueues_owners_whose_selector_matches_now() -> None:
    async with workload_cluster("replicasets") as cluster:
        await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        await cluster.pod("stranger", labels={"app": "other"})
        assert len(await cluster.pods()) == 2
        await cluster.change(PODS, "stranger", {"metadata": {"labels": LABELS}})
        assert len(await cluster.pods()) == 1, "the pod that matches now was not counted"


async def test_rs_4_surplus_pods_that_are_not_ready_are_deleted_first() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(4))
        ready, running, bound, _ = await cluster.pods(owner)
        await cluster.bind(ready, running, bound)
        await cluster.run(ready)
        await cluster.run(running, is_ready=False)
        names = [name_of(pod) for pod in (ready, running, bound)]
        for number in (3, 2, 1):
            await cluster.change(REPLICA_SETS, "web", {"spec": {"replicas": number}})
            remaining = {name_of(pod) for pod in await cluster.pods(owner) if "deletionTimestamp" not in pod["metadata"]}
            assert remaining == set(names[:number])


async def test_rs_4_surplus_pod_gets_its_own_grace_period() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1, template=template(terminationGracePeriodSeconds=77)))
        [pod] = await cluster.pods(owner)
        await cluster.bind(pod)
        await cluster.change(REPLICA_SETS, "web", {"spec": {"replicas": 0}})
        assert (await cluster.get(PODS, name_of(pod)))["metadata"]["deletionGracePeriodSeconds"] == 77
        status = (await cluster.get(REPLICA_SETS, "web"))["status"]
        assert (status["replicas"], status["terminatingReplicas"]) == (0, 1)


async def test_rs_5_no_events_about_a_terminating_namespace() -> None:
    async with workload_cluster("replicasets") as cluster:
        await cluster.server.create("namespaces", "", {"metadata": {"name": "doomed"}})
        await cluster.client.create(REPLICA_SETS, "doomed", {"metadata": {"name": "web"}, "spec": replicas_of(1)})
        await cluster.settle()
        [pod] = (await cluster.client.list(PODS, "doomed")).items
        await cluster.client.delete(NAMESPACES, "", "doomed")  # no namespace controller runs here
        await cluster.client.delete(PODS, "doomed", name_of(pod))
        await cluster.settle()
        assert (await cluster.client.list(PODS, "doomed")).items == []
        reasons = [event["reason"] for event in (await cluster.client.list(EVENTS, "doomed")).items]
        assert reasons == ["SuccessfulCreate"]
        [owner] = (await cluster.client.list(REPLICA_SETS, "doomed")).items
        assert condition(owner, "ReplicaFailure") == {}


async def test_status_counts_ready_available_and_fully_labeled_pods() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(3, minReadySeconds=10))
        first, second, _ = await cluster.pods(owner)
        await cluster.run(first)
        await cluster.pass_time(6)
        await cluster.run(second)
        await cluster.change(PODS, name_of(second), {"metadata": {"labels": {"more": "labels"}}})

        async def counts() -> tuple[int, int, int, int]:
            status = (await cluster.get(REPLICA_SETS, "web"))["status"]
            names = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
            return tuple(status.get(name, 0) for name in names)

        assert await counts() == (3, 3, 2, 0)
        await cluster.pass_time(4)
        assert await counts() == (3, 3, 2, 1)
        await cluster.pass_time(6)
        assert await counts() == (3, 3, 2, 2)


async def test_slow_start_doubles_batches_until_one_fails() -> None:
    requests: list[int] = []

    async def request(number: int) -> None:
        requests.append(number)
        if number >= 5:
            raise errors.Forbidden("no more")

    result = await slow_start.slow_start_batch(range(100), request)
    assert requests == list(range(7)), "batches of one, two, four: the third had errors, so there was no fourth"
    assert (result.successes, len(result.failures)) == (5, 2)


async def test_replica_failure_is_reported_and_cleared() -> None:
    async with workload_cluster("replicasets") as cluster:
        impossible = template()
        impossible["metadata"]["finalizers"] = ["no-finalizer"]  # which is validated only when a pod is created
        await cluster.create(REPLICA_SETS, "web", replicas_of(3, template=impossible))
        failure = condition(await cluster.get(REPLICA_SETS, "web"), "ReplicaFailure")
        assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")
        assert "no-finalizer" in failure["message"]
        assert {reason for reason, _ in await cluster.event_messages("web")} == {"FailedCreate"}
        await cluster.change(REPLICA_SETS, "web", {"spec": {"template": {"metadata": {"finalizers": None}}}})
        assert len(await cluster.pods()) == 3
        assert condition(await cluster.get(REPLICA_SETS, "web"), "ReplicaFailure") == {}


async def test_controller_catches_up_after_downtime() -> None:
    async with workload_cluster() as cluster:
        await cluster.create(REPLICA_SETS, "web", replicas_of(2))
        assert await cluster.pods() == []
        cluster.server._names = ("replicasets",)
        for number in (2, 3):
            async with cluster.server.controlling():
                await cluster.settle()
                assert len(await cluster.pods()) == number
            await cluster.client.patch(REPLICA_SETS, NAMESPACE, "web", change={"spec": {"replicas": 3}})


async def test_foreground_deletion_waits_for_pods_and_creates_no_new_ones() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(2))
        pods = await cluster.pods(owner)
        await cluster.bind(*pods)
        await cluster.delete(REPLICA_SETS, "web", "Foreground")
        assert all("deletionTimestamp" in pod["metadata"] for pod in await cluster.pods(owner))
        for pod in pods:
            assert await cluster.find(REPLICA_SETS, "web") is not None
            await cluster.delete(PODS, name_of(pod), grace=0)
        assert await cluster.find(REPLICA_SETS, "web") is None
        assert await cluster.pods() == []
