"""DaemonSets: one pod on each eligible node, and updates from one version to the next; DS-1 to DS-5."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.workloads.daemonsets.controller import NODES
from probate.controllers.workloads.daemonsets.placement import target_node
from probate.controllers.workloads.owner_kinds import DAEMON_SET, PODS, REVISIONS
from probate.controllers.workloads.pod_template import is_active
from support.workload_cluster import LABELS, WorkloadCluster, name_of, owners_of, template, workload_cluster

SETS = DAEMON_SET.resource
REVISION_LABEL = "controller-revision-hash"
CONTROLLER_REFERENCE = {"kind": "DaemonSet", "controller": True, "blockOwnerDeletion": True}


def set_of(strategy: Object | None = None, pod: Object | None = None, **spec: Any) -> Object:
    strategy_fields = {"updateStrategy": strategy} if strategy else {}
    return {"selector": {"matchLabels": LABELS}, "template": template(**(pod or {})), **strategy_fields, **spec}


def rolling(**details: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": details}


async def add_nodes(cluster: WorkloadCluster, *names: str, **labels: str) -> None:
    for name in names:
        await cluster.client.create(NODES, "", {"metadata": {"name": name, "labels": labels}})
        await cluster.client.patch(NODES, "", name, change={"spec": {"taints": None}})  # the server taints new nodes as not ready
    await cluster.settle()


async def change_node(cluster: WorkloadCluster, name: str, change: Object) -> None:
    await cluster.client.patch(NODES, "", name, change=change)
    await cluster.settle()


async def taint(cluster: WorkloadCluster, node: str, key: str, effect: str) -> None:
    await change_node(cluster, node, {"spec": {"taints": [{"key": key, "effect": effect}]}})


async def nodes_with_pods(cluster: WorkloadCluster) -> list[str]:
    """Returns the nodes that have an active pod, once for each pod."""
    return sorted(target_node(pod) for pod in await cluster.pods() if is_active(pod))


async def images(cluster: WorkloadCluster) -> list[str]:
    return sorted(f"{target_node(pod)} {pod['spec']['containers'][0]['image']}" for pod in await cluster.pods() if is_active(pod))


async def make_all_ready(cluster: WorkloadCluster) -> None:
    await cluster.run(*[pod for pod in await cluster.pods() if is_active(pod)])


async def new_image(cluster: WorkloadCluster, image: str) -> None:
    await cluster.change(SETS, "web", {"spec": {"template": template(image=image)}}, lists=True)


async def status(cluster: WorkloadCluster) -> Object:
    result: Object = (await cluster.get(SETS, "web"))["status"]
    return result


async def test_every_node_gets_a_pod_tied_to_it_by_affinity() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b")
        owner = await cluster.create(SETS, "web", set_of())
        assert await nodes_with_pods(cluster) == ["a", "b"]
        [first, _], [revision] = await cluster.pods(), await cluster.all(REVISIONS)
        required = first["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        [term] = required["nodeSelectorTerms"]
        assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [target_node(first)]}]}
        assert "nodeName" not in first["spec"]
        revision_hash = revision["metadata"]["labels"][REVISION_LABEL]
        assert first["metadata"]["labels"] == {**LABELS, REVISION_LABEL: revision_hash, "pod-template-generation": "1"}
        [reference] = first["metadata"]["ownerReferences"]
        assert CONTROLLER_REFERENCE.items() <= reference.items()
        assert owners_of(revision) == owners_of(first) == [owner["metadata"]["uid"]]
        assert name_of(revision) == f"web-{revision_hash}"


async def test_new_node_gets_a_pod() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await cluster.create(SETS, "web", set_of())
        assert await nodes_with_pods(cluster) == []
        await add_nodes(cluster, "a")
        assert await nodes_with_pods(cluster) == ["a"]


async def test_unbound_pod_of_a_deleted_node_is_deleted_and_a_bound_one_is_left_to_pod_gc() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b")
        await cluster.create(SETS, "web", set_of())
        [on_a] = [pod for pod in await cluster.pods() if target_node(pod) == "a"]
        await cluster.bind(on_a, node="a")
        for name in ("a", "b"):
            await cluster.client.delete(NODES, "", name)
        await cluster.settle()
        assert [(name_of(pod), is_active(pod)) for pod in await cluster.pods()] == [(name_of(on_a), True)]


async def test_only_matching_nodes_get_a_pod_and_it_is_deleted_when_they_stop_matching() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", disk="ssd")
        await add_nodes(cluster, "b")
        await cluster.create(SETS, "web", set_of(pod={"nodeSelector": {"disk": "ssd"}}))
        assert await nodes_with_pods(cluster) == ["a"]
        await change_node(cluster, "b", {"metadata": {"labels": {"disk": "ssd"}}})
        await change_node(cluster, "a", {"metadata": {"labels": {"disk": None}}})
        assert await nodes_with_pods(cluster) == ["b"]


async def test_affinity_of_the_template_selects_nodes() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", zone="x")
        await add_nodes(cluster, "b", zone="y")
        term = {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["x"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        await cluster.create(SETS, "web", set_of(pod={"affinity": {"nodeAffinity": required}}))
        assert await nodes_with_pods(cluster) == ["b"]


@pytest.mark.parametrize(("effect", "is_kept"), [("NoSchedule", True), ("NoExecute", False), ("PreferNoSchedule", True)])
async def test_untolerated_taint(effect: str, *, is_kept: bool) -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b")
        await taint(cluster, "b", "test.example/keep-off", effect)
        await cluster.create(SETS, "web", set_of())
        is_created = effect == "PreferNoSchedule"
        assert await nodes_with_pods(cluster) == (["a", "b"] if is_created else ["a"])
        await taint(cluster, "a", "test.example/keep-off", effect)
        assert ("a" in await nodes_with_pods(cluster)) == is_kept
        assert (await status(cluster))["numberMisscheduled"] == (1 if effect == "NoSchedule" else 0)


@pytest.mark.parametrize(
    ("key", "effect"),
    [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ],
)
async def test_unhealthy_node_keeps_its_pod(key: str, effect: str) -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await taint(cluster, "a", f"node.kubernetes.io/{key}", effect)
        await cluster.create(SETS, "web", set_of())
        assert await nodes_with_pods(cluster) == ["a"]


@pytest.mark.parametrize("uses_host_network", [True, False])
async def test_only_host_network_pods_tolerate_an_unavailable_network(*, uses_host_network: bool) -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await taint(cluster, "a", "node.kubernetes.io/network-unavailable", "NoSchedule")
        await cluster.create(SETS, "web", set_of(pod={"hostNetwork": uses_host_network}))
        assert await nodes_with_pods(cluster) == (["a"] if uses_host_network else [])


async def test_status_counts_nodes() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b", "c")
        await cluster.create(SETS, "web", set_of(minReadySeconds=5))
        first, second, _ = await cluster.pods()
        await cluster.run(first)
        await cluster.pass_time(5)
        await cluster.run(second)
        daemon_set_status = await status(cluster)
        assert {name: value for name, value in daemon_set_status.items() if "umber" in name} == {
            "currentNumberScheduled": 3,
            "desiredNumberScheduled": 3,
            "numberMisscheduled": 0,
            "numberReady": 2,
            "numberAvailable": 1,
            "numberUnavailable": 2,
            "updatedNumberScheduled": 3,
        }
        assert daemon_set_status["observedGeneration"] == 1
        await cluster.pass_time(5)
        assert (await status(cluster))["numberAvailable"] == 2


@pytest.mark.parametrize(("max_unavailable", "number"), [(1, 1), (2, 2), ("50%", 2), ("30%", 2), ("100%", 4)])
async def test_update_replaces_at_most_max_unavailable_pods_at_once(max_unavailable: Any, number: int) -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b", "c", "d")
        await cluster.create(SETS, "web", set_of(rolling(maxUnavailable=max_unavailable)))
        await make_all_ready(cluster)
        await new_image(cluster, "two")
        assert sum("two" in image for image in await images(cluster)) == number
        assert len(await nodes_with_pods(cluster)) == 4
        for _ in range(4):
            await make_all_ready(cluster)
        assert await images(cluster) == ["a two", "b two", "c two", "d two"]
        assert (await status(cluster))["updatedNumberScheduled"] == 4


async def test_update_replaces_unavailable_pods_first() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b", "c")
        await cluster.create(SETS, "web", set_of())
        await cluster.run(*[pod for pod in await cluster.pods() if target_node(pod) != "b"])
        await new_image(cluster, "two")
        assert await images(cluster) == ["a one", "b two", "c one"]


@pytest.mark.parametrize("details", [{"maxUnavailable": 2}, {"maxSurge": 2, "maxUnavailable": 0}])
async def test_update_keeps_a_pod_on_a_node_that_accepts_no_replacement(details: Object) -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b")
        await cluster.create(SETS, "web", set_of(rolling(**details)))
        await make_all_ready(cluster)
        await taint(cluster, "b", "test.example/keep-off", "NoSchedule")
        await new_image(cluster, "two")
        for _ in range(3):
            await make_all_ready(cluster)
        assert await images(cluster) == ["a two", "b one"]
        daemon_set_status = await status(cluster)
        assert (daemon_set_status["desiredNumberScheduled"], daemon_set_status["updatedNumberScheduled"]) == (1, 1), (
            "the update is over"
        )
        await cluster.client.patch(NODES, "", "b", change={"spec": {"taints": None}})
        await cluster.settle()
        for _ in range(3):
            await make_all_ready(cluster)
        assert await images(cluster) == ["a two", "b two"]


async def test_surge_creates_the_new_pod_before_it_deletes_the_old_one() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b")
        await cluster.create(SETS, "web", set_of(rolling(maxSurge=1, maxUnavailable=0)))
        await make_all_ready(cluster)
        await new_image(cluster, "two")
        images_during_surge = await images(cluster)
        assert len(images_during_surge) == 3, "one node has two pods"
        assert sum("one" in image for image in images_during_surge) == 2
        await make_all_ready(cluster)
        assert len(await images(cluster)) == 3, "now the other node has two pods"
        await make_all_ready(cluster)
        assert await images(cluster) == ["a two", "b two"]


async def test_surge_deletes_an_old_pod_that_is_no_longer_ready() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of(rolling(maxSurge=1, maxUnavailable=0)))
        await make_all_ready(cluster)
        [old] = await cluster.pods()
        await new_image(cluster, "two")
        await cluster.run(old, is_ready=False)
        assert await images(cluster) == ["a two"]


async def test_on_delete_updates_a_pod_only_when_a_client_deletes_it() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a", "b")
        await cluster.create(SETS, "web", set_of({"type": "OnDelete"}))
        await make_all_ready(cluster)
        await new_image(cluster, "two")
        assert await images(cluster) == ["a one", "b one"]
        [on_a] = [pod for pod in await cluster.pods() if target_node(pod) == "a"]
        await cluster.delete(PODS, name_of(on_a), grace=0)
        assert await images(cluster) == ["a two", "b one"]


async def test_finished_pod_is_replaced_with_backoff() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of())
        for wait in (0, 1, 2, 4):
            [pod] = await cluster.pods()
            await cluster.finish(pod, phase="Failed")
            if wait:
                assert await nodes_with_pods(cluster) == []
                await cluster.pass_time(wait - 0.1)
                assert await nodes_with_pods(cluster) == []
                await cluster.pass_time(0.1)
            assert await nodes_with_pods(cluster) == ["a"]
        assert "FailedDaemonPod" in [reason for reason, _ in await cluster.event_messages("web")]


async def test_second_pod_on_a_node_is_deleted() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of())
        [first] = await cluster.pods()
        await cluster.pass_time(1)
        await cluster.create(PODS, "other", {**template()["spec"], "nodeName": "a"}, labels=LABELS)
        assert [name_of(pod) for pod in await cluster.pods() if is_active(pod)] == [name_of(first)]


async def test_ds_1_nothing_changes_while_the_daemonset_is_being_deleted() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await cluster.create(SETS, "web", set_of(), finalizers=["test.example/hold"])
        await cluster.delete(SETS, "web")
        before = await cluster.get(SETS, "web")
        await add_nodes(cluster, "a")
        assert await nodes_with_pods(cluster) == []
        assert await cluster.get(SETS, "web") == before


async def test_ds_2_pods_and_revisions_are_adopted_and_released() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of())
        await cluster.delete(SETS, "web", "Orphan")
        [orphan], [revision] = await cluster.pods(), await cluster.all(REVISIONS)
        assert owners_of(orphan) == owners_of(revision) == []
        successor = await cluster.create(SETS, "web", set_of())
        [pod], [revision] = await cluster.pods(), await cluster.all(REVISIONS)
        assert name_of(pod) == name_of(orphan)
        assert owners_of(pod) == owners_of(revision) == [successor["metadata"]["uid"]]
        await cluster.change(REVISIONS, name_of(revision), {"metadata": {"labels": {"app": "else"}}})
        assert owners_of(await cluster.get(REVISIONS, name_of(revision))) == []


async def test_ds_3_equal_revisions_are_deduplicated() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of({"type": "OnDelete"}))
        [first] = await cluster.all(REVISIONS)
        labels = {**first["metadata"]["labels"], REVISION_LABEL: "double", "controller.kubernetes.io/hash": "double"}
        duplicate = {"metadata": {"name": "web-double", "labels": labels}, "data": first["data"], "revision": 7}
        await cluster.client.create(REVISIONS, "default", duplicate)
        await cluster.settle()
        assert [name_of(revision) for revision in await cluster.all(REVISIONS)] == ["web-double"]
        assert [pod["metadata"]["labels"][REVISION_LABEL] for pod in await cluster.pods()] == ["double"]


async def test_ds_3_twin_of_a_revision_created_by_a_client_deleted_the_other_one_at_once() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of())
        [first] = await cluster.all(REVISIONS)
        meta = {name: first["metadata"][name] for name in ("labels", "ownerReferences")}
        await cluster.client.create(REVISIONS, "default", {**first, "metadata": {"name": "web-twin", **meta}, "revision": 2})
        await cluster.settle()
        assert {name_of(revision) for revision in await cluster.all(REVISIONS)} == {name_of(first), "web-twin"}
        await cluster.delete(REVISIONS, name_of(first))
        assert [name_of(revision) for revision in await cluster.all(REVISIONS)] == ["web-twin"]


async def test_ds_4_old_revisions_are_deleted_beyond_the_limit_unless_a_pod_uses_them() -> None:
    async with workload_cluster("daemonsets") as cluster:
        await add_nodes(cluster, "a")
        await cluster.create(SETS, "web", set_of({"type": "OnDelete"}, revisionHistoryLimit=2))
        for image in ("two", "three", "four", "five"):
            await new_image(cluster, image)
        remaining = {
            revision["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for revision in await cluster.all(REVISIONS)
        }
        assert remaining == {"one", "four", "five"}
