"""The scheduler, tested through the API: which node a pod gets, and what its status says if it gets none."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import NAMESPACE, WorkloadCluster, condition, workload_cluster

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("scheduler") as cluster_:
        yield cluster_


def pod_spec(amounts: dict[str, str] | None = None, **spec: Any) -> Object:
    """Returns the spec of a pod with these requests."""
    container: Object = {"name": "c", "image": "one"}
    if amounts:
        container["resources"] = {"requests": amounts}
    return {"containers": [container], **spec}


async def node_of(cluster: WorkloadCluster, pod_name: str) -> str | None:
    name_: str | None = (await cluster.get(PODS, pod_name))["spec"].get("nodeName")
    return name_


async def unschedulable_message(cluster: WorkloadCluster, name: str) -> str:
    pod = await cluster.get(PODS, name)
    assert pod["spec"].get("nodeName") is None
    scheduled = condition(pod, "PodScheduled")
    assert (scheduled["status"], scheduled["reason"], scheduled["observedGeneration"]) == (
        "False",
        "Unschedulable",
        pod["metadata"]["generation"],
    )
    message: str = scheduled["message"]
    return message


async def test_pending_pod_gets_the_first_node(cluster: WorkloadCluster) -> None:
    await cluster.create(PODS, "a", pod_spec())
    assert await unschedulable_message(cluster, "a") == "no nodes available to schedule pods"
    assert await cluster.event_messages("a") == [("FailedScheduling", "no nodes available to schedule pods")]
    await cluster.node("one")
    pod = await cluster.get(PODS, "a")
    assert pod["spec"]["nodeName"] == "one"
    assert condition(pod, "PodScheduled")["status"] == "True"
    assert ("Scheduled", "Successfully assigned default/a to one") in await cluster.event_messages("a")


async def test_pods_go_to_the_least_utilized_nodes(cluster: WorkloadCluster) -> None:
    for name in ("one", "two", "three"):
        await cluster.node(name)
    for number in range(6):
        await cluster.create(PODS, f"pod-{number}", pod_spec({"cpu": "100m"}))
    nodes = Counter(pod["spec"]["nodeName"] for pod in await cluster.pods())
    assert nodes == {"one": 2, "two": 2, "three": 2}


async def test_pods_of_one_round_do_not_share_the_same_resources(cluster: WorkloadCluster) -> None:
    for number in range(5):
        await cluster.create(PODS, f"pod-{number}", pod_spec({"cpu": "2"}))
    await cluster.node("one")
    assigned = [pod for pod in await cluster.pods() if pod["spec"].get("nodeName")]
    assert len(assigned) == 2
    unscheduled = [pod["metadata"]["name"] for pod in await cluster.pods() if not pod["spec"].get("nodeName")]
    assert {await unschedulable_message(cluster, name) for name in unscheduled} == {"0/1 nodes are available: 1 Insufficient cpu."}


async def test_released_resources_go_to_a_pending_pod(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await cluster.create(PODS, "first", pod_spec({"memory": "8Gi"}))
    await cluster.create(PODS, "second", pod_spec({"memory": "1Gi"}))
    assert await unschedulable_message(cluster, "second") == "0/1 nodes are available: 1 Insufficient memory."
    await cluster.finish(await cluster.get(PODS, "first"))
    assert await node_of(cluster, "second") == "one"


async def test_higher_priority_pods_are_scheduled_first(cluster: WorkloadCluster) -> None:
    await cluster.create(PODS, "usual", pod_spec({"cpu": "3"}))
    await cluster.create(PODS, "critical", pod_spec({"cpu": "3"}, priorityClassName="system-node-critical"))
    await cluster.node("one")
    assert await node_of(cluster, "critical") == "one"
    assert await node_of(cluster, "usual") is None


async def test_init_container_requests_count(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    first = {"name": "i", "image": "one", "resources": {"requests": {"cpu": "5"}}}
    await cluster.create(PODS, "a", pod_spec({"cpu": "1"}, initContainers=[first]))
    assert await unschedulable_message(cluster, "a") == "0/1 nodes are available: 1 Insufficient cpu."


async def test_node_accepts_no_more_pods_than_allocatable(cluster: WorkloadCluster) -> None:
    await cluster.node("one", status={"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "1"}})
    await cluster.create(PODS, "a", pod_spec())
    await cluster.create(PODS, "b", pod_spec())
    assert await unschedulable_message(cluster, "b") == "0/1 nodes are available: 1 Too many pods."


async def test_node_selector_and_required_node_affinity(cluster: WorkloadCluster) -> None:
    await cluster.node("ssd", labels={"disk": "ssd", "size": "5"})
    await cluster.node("hdd", labels={"disk": "hdd", "size": "50"})
    await cluster.create(PODS, "selected", pod_spec(nodeSelector={"disk": "hdd"}))
    assert await node_of(cluster, "selected") == "hdd"
    for name, expression, node in [
        ("in", {"key": "disk", "operator": "In", "values": ["ssd"]}, "ssd"),
        ("notin", {"key": "disk", "operator": "NotIn", "values": ["ssd"]}, "hdd"),
        ("gt", {"key": "size", "operator": "Gt", "values": ["10"]}, "hdd"),
        ("lt", {"key": "size", "operator": "Lt", "values": ["10"]}, "ssd"),
    ]:
        required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        await cluster.create(PODS, name, pod_spec(affinity=affinity))
        assert await node_of(cluster, name) == node, name
    await cluster.create(PODS, "nowhere", pod_spec(nodeSelector={"disk": "tape"}))
    assert (
        await unschedulable_message(cluster, "nowhere")
        == "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    )
    await cluster.client.patch(NODES, "", "hdd", change={"metadata": {"labels": {"disk": "tape"}}})
    await cluster.settle()
    assert await node_of(cluster, "nowhere") == "hdd"


async def test_preferred_node_affinity(cluster: WorkloadCluster) -> None:
    await cluster.node("plain")
    await cluster.node("liked", labels={"disk": "ssd"})
    await cluster.create(PODS, "other", pod_spec({"cpu": "1"}, nodeSelector={"disk": "ssd"}))
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    await cluster.create(PODS, "a", pod_spec(affinity=affinity))
    assert await node_of(cluster, "a") == "liked"


async def test_taints_repel_pods_without_tolerations(cluster: WorkloadCluster) -> None:
    await cluster.node("one", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    await cluster.create(PODS, "a", pod_spec())
    assert await unschedulable_message(cluster, "a") == "0/1 nodes are available: 1 node(s) had untolerated taint(s) {gpu: yes}."
    await cluster.create(PODS, "equal", pod_spec(tolerations=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]))
    await cluster.create(PODS, "other", pod_spec(tolerations=[{"key": "gpu", "value": "no", "effect": "NoSchedule"}]))
    await cluster.create(PODS, "exists", pod_spec(tolerations=[{"operator": "Exists"}]))
    assert [await node_of(cluster, name) for name in ("equal", "other", "exists")] == ["one", None, "one"]


async def test_new_node_accepts_no_pods_before_it_is_ready(cluster: WorkloadCluster) -> None:
    await cluster.client.create(NODES, "", {"metadata": {"name": "one"}, "status": {"allocatable": {"pods": "9"}}})
    await cluster.create(PODS, "a", pod_spec())
    assert "node.kubernetes.io/not-ready" in await unschedulable_message(cluster, "a")


async def test_cordoned_node_accepts_no_pods(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await cluster.client.patch(NODES, "", "one", change={"spec": {"unschedulable": True}})
    await cluster.create(PODS, "a", pod_spec())
    assert await unschedulable_message(cluster, "a") == "0/1 nodes are available: 1 node(s) were unschedulable."
    await cluster.client.patch(NODES, "", "one", change={"spec": {"unschedulable": None}})
    await cluster.settle()
    assert await node_of(cluster, "a") == "one"


def pod_affinity(key: str, field: str = "podAffinity", app: str = "web") -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


async def test_pod_affinity(cluster: WorkloadCluster) -> None:
    for name, zone in (("a1", "a"), ("b1", "b"), ("b2", "b")):
        await cluster.node(name, labels={ZONE: zone})
    await cluster.create(PODS, "web", pod_spec(nodeSelector={ZONE: "b"}), labels={"app": "web"})
    for number in range(3):
        await cluster.create(PODS, f"near-{number}", pod_spec(affinity=pod_affinity(ZONE)))
        assert await node_of(cluster, f"near-{number}") in {"b1", "b2"}
    await cluster.create(PODS, "lonely", pod_spec(affinity=pod_affinity(ZONE, app="other")))
    assert await unschedulable_message(cluster, "lonely") == "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
    await cluster.create(PODS, "other", pod_spec(nodeName="a1"), labels={"app": "other"})
    assert await node_of(cluster, "lonely") == "a1"


async def test_first_pod_of_a_group_with_affinity_goes_anywhere(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await cluster.create(PODS, "web", pod_spec(affinity=pod_affinity("kubernetes.io/hostname")), labels={"app": "web"})
    assert await node_of(cluster, "web") == "one"


async def test_pod_anti_affinity(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await cluster.node("two")
    avoiding = pod_spec(affinity=pod_affinity("kubernetes.io/hostname", "podAntiAffinity"))
    for name in ("a", "b", "c"):
        await cluster.create(PODS, name, avoiding, labels={"app": "web"})
    assert {await node_of(cluster, "a"), await node_of(cluster, "b")} == {"one", "two"}
    assert await unschedulable_message(cluster, "c") == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    await cluster.create(PODS, "plain", pod_spec(), labels={"app": "web"})
    assert (
        await unschedulable_message(cluster, "plain")
        == "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."
    )


async def test_topology_spread_constraints(cluster: WorkloadCluster) -> None:
    await cluster.node("a1", labels={ZONE: "a"})
    await cluster.node("b1", labels={ZONE: "b"}, status={"allocatable": {"cpu": "400", "memory": "800Gi", "pods": "110"}})
    even = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    for number in range(4):
        await cluster.create(PODS, f"pod-{number}", pod_spec({"cpu": "1"}, topologySpreadConstraints=[even]), labels={"app": "web"})
    assert Counter(pod["spec"]["nodeName"] for pod in await cluster.pods()) == {"a1": 2, "b1": 2}


async def test_host_port_is_used_once_per_node(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    spec = {"containers": [{"name": "c", "image": "one", "ports": [{"containerPort": 80, "hostPort": 8080}]}]}
    await cluster.create(PODS, "a", spec)
    await cluster.create(PODS, "b", spec)
    assert "didn't have free ports" in await unschedulable_message(cluster, "b")


async def test_gated_pods_and_pods_of_other_schedulers_are_ignored(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await cluster.create(PODS, "gated", pod_spec(schedulingGates=[{"name": "example.com/wait"}]))
    await cluster.create(PODS, "other", pod_spec(schedulerName="somebody-else"))
    assert await node_of(cluster, "gated") is None
    assert await node_of(cluster, "other") is None
    assert condition(await cluster.get(PODS, "gated"), "PodScheduled")["reason"] == "SchedulingGated"
    await cluster.change(PODS, "gated", {"spec": {"schedulingGates": []}})
    assert await node_of(cluster, "gated") == "one"


async def test_pod_that_names_its_node_uses_resources_there(cluster: WorkloadCluster) -> None:
    await cluster.create(PODS, "named", pod_spec({"cpu": "3"}, nodeName="one"))
    await cluster.node("one")
    await cluster.create(PODS, "a", pod_spec({"cpu": "2"}))
    assert await unschedulable_message(cluster, "a") == "0/1 nodes are available: 1 Insufficient cpu."


def pod_spec_with_claim(name: str) -> Object:
    return pod_spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


async def test_pod_waits_for_its_claims(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await cluster.node("two")
    await cluster.create(PODS, "a", pod_spec_with_claim("data"))
    assert await unschedulable_message(cluster, "a") == 'persistentvolumeclaim "data" not found'
    await cluster.create(PERSISTENT_VOLUME_CLAIMS, "data", {**CLAIM, "storageClassName": ""})
    assert await unschedulable_message(cluster, "a") == "pod has unbound immediate PersistentVolumeClaims"
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["two"]}]}
    volume = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    await cluster.client.create(PERSISTENT_VOLUMES, "", {"metadata": {"name": "v"}, "spec": volume})
    await cluster.change(PERSISTENT_VOLUME_CLAIMS, "data", {"spec": {"volumeName": "v"}})
    await cluster.change(PERSISTENT_VOLUME_CLAIMS, "data", {"status": {"phase": "Bound"}}, part="status")
    assert await node_of(cluster, "a") == "two"


async def test_claim_that_waits_for_its_first_consumer_gets_the_selected_node(cluster: WorkloadCluster) -> None:
    storage_class = {"metadata": {"name": "late"}, "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"}
    await cluster.client.create(STORAGE_CLASSES, "", storage_class)
    await cluster.node("one")
    await cluster.create(PERSISTENT_VOLUME_CLAIMS, "data", {**CLAIM, "storageClassName": "late"})
    await cluster.create(PODS, "a", pod_spec_with_claim("data"))
    claim = await cluster.get(PERSISTENT_VOLUME_CLAIMS, "data")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "one"
    assert await node_of(cluster, "a") is None


async def test_deleted_pending_pod_is_forgotten(cluster: WorkloadCluster) -> None:
    await cluster.create(PODS, "a", pod_spec())
    await cluster.client.delete(PODS, NAMESPACE, "a")
    await cluster.node("one")
    await cluster.create(PODS, "a", pod_spec({"cpu": "4"}))
    assert await node_of(cluster, "a") == "one"
