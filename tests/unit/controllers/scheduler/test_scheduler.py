"""The scheduler, asked through the API: which node a pod gets, and what it is told if it gets none."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.client.resources import CLAIMS, CLASSES, NODES, VOLUMES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import NAMESPACE, Object, Stage, condition, staged

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("scheduler") as one:
        yield one


def wanting(amounts: dict[str, str] | None = None, **spec: Any) -> Object:
    """The spec of a pod that asks for this much."""
    container: Object = {"name": "c", "image": "one"}
    if amounts:
        container["resources"] = {"requests": amounts}
    return {"containers": [container], **spec}


async def node_of(stage: Stage, name: str) -> str | None:
    found: str | None = (await stage.get(PODS, name))["spec"].get("nodeName")
    return found


async def why_not(stage: Stage, name: str) -> str:
    pod = await stage.get(PODS, name)
    assert pod["spec"].get("nodeName") is None
    told = condition(pod, "PodScheduled")
    assert (told["status"], told["reason"], told["observedGeneration"]) == ("False", "Unschedulable", pod["metadata"]["generation"])
    message: str = told["message"]
    return message


async def test_pod_waits_for_a_node_and_gets_the_first_that_comes(stage: Stage) -> None:
    await stage.make(PODS, "a", wanting())
    assert await why_not(stage, "a") == "no nodes available to schedule pods"
    assert await stage.told("a") == [("FailedScheduling", "no nodes available to schedule pods")]
    await stage.node("one")
    pod = await stage.get(PODS, "a")
    assert pod["spec"]["nodeName"] == "one"
    assert condition(pod, "PodScheduled")["status"] == "True"
    assert ("Scheduled", "Successfully assigned default/a to one") in await stage.told("a")


async def test_pods_are_spread_over_the_nodes_that_are_used_least(stage: Stage) -> None:
    for name in ("one", "two", "three"):
        await stage.node(name)
    for number in range(6):
        await stage.make(PODS, f"pod-{number}", wanting({"cpu": "100m"}))
    nodes = Counter(pod["spec"]["nodeName"] for pod in await stage.pods())
    assert nodes == {"one": 2, "two": 2, "three": 2}


async def test_pods_of_one_round_do_not_get_the_same_room(stage: Stage) -> None:
    for number in range(5):
        await stage.make(PODS, f"pod-{number}", wanting({"cpu": "2"}))
    await stage.node("one")
    placed = [pod for pod in await stage.pods() if pod["spec"].get("nodeName")]
    assert len(placed) == 2
    left = [pod["metadata"]["name"] for pod in await stage.pods() if not pod["spec"].get("nodeName")]
    assert {await why_not(stage, name) for name in left} == {"0/1 nodes are available: 1 Insufficient cpu."}


async def test_room_that_becomes_free_is_given_to_a_pod_that_waits(stage: Stage) -> None:
    await stage.node("one")
    await stage.make(PODS, "first", wanting({"memory": "8Gi"}))
    await stage.make(PODS, "second", wanting({"memory": "1Gi"}))
    assert await why_not(stage, "second") == "0/1 nodes are available: 1 Insufficient memory."
    await stage.end(await stage.get(PODS, "first"))
    assert await node_of(stage, "second") == "one"


async def test_more_important_pods_are_first(stage: Stage) -> None:
    await stage.make(PODS, "usual", wanting({"cpu": "3"}))
    await stage.make(PODS, "critical", wanting({"cpu": "3"}, priorityClassName="system-node-critical"))
    await stage.node("one")
    assert await node_of(stage, "critical") == "one"
    assert await node_of(stage, "usual") is None


async def test_init_containers_count_for_as_long_as_they_run(stage: Stage) -> None:
    await stage.node("one")
    first = {"name": "i", "image": "one", "resources": {"requests": {"cpu": "5"}}}
    await stage.make(PODS, "a", wanting({"cpu": "1"}, initContainers=[first]))
    assert await why_not(stage, "a") == "0/1 nodes are available: 1 Insufficient cpu."


async def test_a_node_takes_no_more_pods_than_it_says(stage: Stage) -> None:
    await stage.node("one", status={"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "1"}})
    await stage.make(PODS, "a", wanting())
    await stage.make(PODS, "b", wanting())
    assert await why_not(stage, "b") == "0/1 nodes are available: 1 Too many pods."


async def test_node_selector_and_node_affinity_hold(stage: Stage) -> None:
    await stage.node("ssd", labels={"disk": "ssd", "size": "5"})
    await stage.node("hdd", labels={"disk": "hdd", "size": "50"})
    await stage.make(PODS, "selected", wanting(nodeSelector={"disk": "hdd"}))
    assert await node_of(stage, "selected") == "hdd"
    for name, expression, node in [
        ("in", {"key": "disk", "operator": "In", "values": ["ssd"]}, "ssd"),
        ("notin", {"key": "disk", "operator": "NotIn", "values": ["ssd"]}, "hdd"),
        ("gt", {"key": "size", "operator": "Gt", "values": ["10"]}, "hdd"),
        ("lt", {"key": "size", "operator": "Lt", "values": ["10"]}, "ssd"),
    ]:
        required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        await stage.make(PODS, name, wanting(affinity=affinity))
        assert await node_of(stage, name) == node, name
    await stage.make(PODS, "nowhere", wanting(nodeSelector={"disk": "tape"}))
    assert await why_not(stage, "nowhere") == "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    await stage.client.patch(NODES, "", "hdd", {"metadata": {"labels": {"disk": "tape"}}})
    await stage.settle()
    assert await node_of(stage, "nowhere") == "hdd"


async def test_preferred_nodes_come_first(stage: Stage) -> None:
    await stage.node("plain")
    await stage.node("liked", labels={"disk": "ssd"})
    await stage.make(PODS, "other", wanting({"cpu": "1"}, nodeSelector={"disk": "ssd"}))
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    await stage.make(PODS, "a", wanting(affinity=affinity))
    assert await node_of(stage, "a") == "liked"


async def test_taints_keep_pods_away_that_do_not_tolerate_them(stage: Stage) -> None:
    await stage.node("one", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    await stage.make(PODS, "a", wanting())
    assert await why_not(stage, "a") == "0/1 nodes are available: 1 node(s) had untolerated taint(s) {gpu: yes}."
    await stage.make(PODS, "equal", wanting(tolerations=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]))
    await stage.make(PODS, "other", wanting(tolerations=[{"key": "gpu", "value": "no", "effect": "NoSchedule"}]))
    await stage.make(PODS, "exists", wanting(tolerations=[{"operator": "Exists"}]))
    assert [await node_of(stage, name) for name in ("equal", "other", "exists")] == ["one", None, "one"]


async def test_a_new_node_takes_no_pods_before_it_is_ready(stage: Stage) -> None:
    await stage.client.create(NODES, "", {"metadata": {"name": "one"}, "status": {"allocatable": {"pods": "9"}}})
    await stage.make(PODS, "a", wanting())
    assert "node.kubernetes.io/not-ready" in await why_not(stage, "a")


async def test_a_cordoned_node_takes_no_pods(stage: Stage) -> None:
    await stage.node("one")
    await stage.client.patch(NODES, "", "one", {"spec": {"unschedulable": True}})
    await stage.make(PODS, "a", wanting())
    assert await why_not(stage, "a") == "0/1 nodes are available: 1 node(s) were unschedulable."
    await stage.client.patch(NODES, "", "one", {"spec": {"unschedulable": None}})
    await stage.settle()
    assert await node_of(stage, "a") == "one"


def near(key: str, side: str = "podAffinity", app: str = "web") -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


async def test_pods_that_want_to_be_near_each_other_are(stage: Stage) -> None:
    for name, zone in (("a1", "a"), ("b1", "b"), ("b2", "b")):
        await stage.node(name, labels={ZONE: zone})
    await stage.make(PODS, "web", wanting(nodeSelector={ZONE: "b"}), labels={"app": "web"})
    for number in range(3):
        await stage.make(PODS, f"near-{number}", wanting(affinity=near(ZONE)))
        assert await node_of(stage, f"near-{number}") in {"b1", "b2"}
    await stage.make(PODS, "lonely", wanting(affinity=near(ZONE, app="other")))
    assert await why_not(stage, "lonely") == "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
    await stage.make(PODS, "other", wanting(nodeName="a1"), labels={"app": "other"})
    assert await node_of(stage, "lonely") == "a1"


async def test_the_first_of_those_that_want_to_be_near_each_other_goes_anywhere(stage: Stage) -> None:
    await stage.node("one")
    await stage.make(PODS, "web", wanting(affinity=near("kubernetes.io/hostname")), labels={"app": "web"})
    assert await node_of(stage, "web") == "one"


async def test_pods_that_avoid_each_other_are_on_different_nodes(stage: Stage) -> None:
    await stage.node("one")
    await stage.node("two")
    avoiding = wanting(affinity=near("kubernetes.io/hostname", "podAntiAffinity"))
    for name in ("a", "b", "c"):
        await stage.make(PODS, name, avoiding, labels={"app": "web"})
    assert {await node_of(stage, "a"), await node_of(stage, "b")} == {"one", "two"}
    assert await why_not(stage, "c") == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    await stage.make(PODS, "plain", wanting(), labels={"app": "web"})
    assert await why_not(stage, "plain") == "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."


async def test_spread_constraints_hold(stage: Stage) -> None:
    await stage.node("a1", labels={ZONE: "a"})
    await stage.node("b1", labels={ZONE: "b"}, status={"allocatable": {"cpu": "400", "memory": "800Gi", "pods": "110"}})
    even = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    for number in range(4):
        await stage.make(PODS, f"pod-{number}", wanting({"cpu": "1"}, topologySpreadConstraints=[even]), labels={"app": "web"})
    assert Counter(pod["spec"]["nodeName"] for pod in await stage.pods()) == {"a1": 2, "b1": 2}


async def test_host_ports_are_had_once_on_a_node(stage: Stage) -> None:
    await stage.node("one")
    spec = {"containers": [{"name": "c", "image": "one", "ports": [{"containerPort": 80, "hostPort": 8080}]}]}
    await stage.make(PODS, "a", spec)
    await stage.make(PODS, "b", spec)
    assert "didn't have free ports" in await why_not(stage, "b")


async def test_gated_pods_and_those_of_other_schedulers_are_left_alone(stage: Stage) -> None:
    await stage.node("one")
    await stage.make(PODS, "gated", wanting(schedulingGates=[{"name": "example.com/wait"}]))
    await stage.make(PODS, "other", wanting(schedulerName="somebody-else"))
    assert await node_of(stage, "gated") is None
    assert await node_of(stage, "other") is None
    assert condition(await stage.get(PODS, "gated"), "PodScheduled")["reason"] == "SchedulingGated"
    await stage.change(PODS, "gated", {"spec": {"schedulingGates": []}})
    assert await node_of(stage, "gated") == "one"


async def test_a_pod_that_names_its_node_takes_room_there(stage: Stage) -> None:
    await stage.make(PODS, "named", wanting({"cpu": "3"}, nodeName="one"))
    await stage.node("one")
    await stage.make(PODS, "a", wanting({"cpu": "2"}))
    assert await why_not(stage, "a") == "0/1 nodes are available: 1 Insufficient cpu."


def claiming(name: str) -> Object:
    return wanting(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


async def test_a_pod_waits_for_its_claims(stage: Stage) -> None:
    await stage.node("one")
    await stage.node("two")
    await stage.make(PODS, "a", claiming("data"))
    assert await why_not(stage, "a") == 'persistentvolumeclaim "data" not found'
    await stage.make(CLAIMS, "data", {**CLAIM, "storageClassName": ""})
    assert await why_not(stage, "a") == "pod has unbound immediate PersistentVolumeClaims"
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["two"]}]}
    volume = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    await stage.client.create(VOLUMES, "", {"metadata": {"name": "v"}, "spec": volume})
    await stage.change(CLAIMS, "data", {"spec": {"volumeName": "v"}})
    await stage.change(CLAIMS, "data", {"status": {"phase": "Bound"}}, "status")
    assert await node_of(stage, "a") == "two"


async def test_a_claim_that_waits_for_its_first_consumer_is_told_the_node(stage: Stage) -> None:
    class_ = {"metadata": {"name": "late"}, "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"}
    await stage.client.create(CLASSES, "", class_)
    await stage.node("one")
    await stage.make(CLAIMS, "data", {**CLAIM, "storageClassName": "late"})
    await stage.make(PODS, "a", claiming("data"))
    claim = await stage.get(CLAIMS, "data")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "one"
    assert await node_of(stage, "a") is None


async def test_a_pod_that_goes_while_it_waits_is_forgotten(stage: Stage) -> None:
    await stage.make(PODS, "a", wanting())
    await stage.client.delete(PODS, NAMESPACE, "a")
    await stage.node("one")
    await stage.make(PODS, "a", wanting({"cpu": "4"}))
    assert await node_of(stage, "a") == "one"
