"""Preemption: which pods are evicted for a pod of a higher priority, and how it gets their node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from probate.store.sqlite import store as sqlite
from support.virtual_time_server import VirtualTimeServer
from support.workload_cluster import NAMESPACE, WorkloadCluster, condition, name_of, workload_cluster

CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
LEVELS = {"low": 10, "middle": 20, "high": 100, "polite": 1000}


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("scheduler", "disruptions") as cluster_:
        cluster_.server.api.admission.priority.subscribe_to(cluster_.server.api.admission.configuration)
        for name, value in LEVELS.items():
            policy = "Never" if name == "polite" else "PreemptLowerPriority"
            await cluster_.client.create(CLASSES, "", {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
        await cluster_.server.api.admission.configuration.refresh_all()
        yield cluster_


async def pod(
    cluster: WorkloadCluster, name: str, level: str, cpu: str = "2", *, labels: dict[str, str] | None = None, **spec: Any
) -> Object:
    container = {"name": "c", "image": "one", "resources": {"requests": {"cpu": cpu}}}
    pod_spec = {"containers": [container], "priorityClassName": level, **spec}
    return await cluster.create(PODS, name, pod_spec, labels=labels or {})


async def placed(cluster: WorkloadCluster) -> dict[str, str]:
    """Returns the node of each pod; in brackets if the pod is being deleted."""
    nodes = {}
    for pod_ in await cluster.pods():
        node = pod_["spec"].get("nodeName", "")
        nodes[name_of(pod_)] = f"({node})" if "deletionTimestamp" in pod_["metadata"] else node
    return nodes


async def nominated(cluster: WorkloadCluster, name: str) -> str:
    node: str = (await cluster.get(PODS, name))["status"].get("nominatedNodeName", "")
    return node


async def test_pod_of_the_lowest_priority_is_preempted(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await pod(cluster, "a", "low")
    await pod(cluster, "b", "middle")
    await pod(cluster, "vip", "high")
    assert await placed(cluster) == {"a": "(one)", "b": "one", "vip": ""}
    assert await nominated(cluster, "vip") == "one"
    victim = await cluster.get(PODS, "a")
    assert victim["metadata"]["deletionGracePeriodSeconds"] == 30
    disruption = condition(victim, "DisruptionTarget")
    assert (disruption["status"], disruption["reason"], disruption["observedGeneration"]) == ("True", "PreemptionByScheduler", 1)
    assert "Preempted" in {reason for reason, _ in await cluster.event_messages("a")}
    await cluster.delete(PODS, "a", grace=0)
    assert await placed(cluster) == {"b": "one", "vip": "one"}
    assert await nominated(cluster, "vip") == ""


async def test_no_preemption_for_equal_priority_or_policy_never(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await pod(cluster, "a", "middle", "4")
    await pod(cluster, "equal", "middle")
    await pod(cluster, "less", "low")
    await pod(cluster, "polite", "polite")
    assert await placed(cluster) == {"a": "one", "equal": "", "less": "", "polite": ""}


async def test_no_preemption_if_it_would_not_help(cluster: WorkloadCluster) -> None:
    await cluster.node("one", labels={"disk": "slow"})
    await pod(cluster, "a", "low", "4")
    await pod(cluster, "large", "high", "5")
    await pod(cluster, "elsewhere", "high", nodeSelector={"disk": "fast"})
    assert await placed(cluster) == {"a": "one", "large": "", "elsewhere": ""}
    assert await nominated(cluster, "large") == ""


async def test_no_more_pods_are_preempted_than_necessary(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    for name, cpu in (("a", "1"), ("b", "1"), ("c", "2")):
        await pod(cluster, name, "low", cpu)
    await pod(cluster, "vip", "high", "2")
    assert await placed(cluster) == {"a": "one", "b": "one", "c": "(one)", "vip": ""}


async def test_node_with_the_least_important_victims_is_chosen(cluster: WorkloadCluster) -> None:
    for node, level in (("one", "middle"), ("two", "low"), ("three", "middle")):
        await cluster.node(node)
        await pod(cluster, f"on-{node}", level, "4", nodeSelector={"kubernetes.io/hostname": node})
    await pod(cluster, "vip", "high")
    assert await nominated(cluster, "vip") == "two"
    assert await placed(cluster) == {"on-one": "one", "on-two": "(two)", "on-three": "three", "vip": ""}


async def test_budgets_are_violated_only_as_a_last_resort(cluster: WorkloadCluster) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}
    await cluster.client.create(BUDGETS, NAMESPACE, {"metadata": {"name": "db"}, "spec": spec})
    await cluster.node("one")
    guarded = await pod(cluster, "guarded", "low", labels={"app": "db"})
    await pod(cluster, "other", "middle")
    await cluster.run(guarded)
    await pod(cluster, "first", "high")
    assert await placed(cluster) == {"guarded": "one", "other": "(one)", "first": ""}
    await cluster.delete(PODS, "other", grace=0)
    await pod(cluster, "second", "high")
    assert await placed(cluster) == {"guarded": "(one)", "first": "one", "second": ""}


async def test_host_ports_and_anti_affinity_cause_preemption_too(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    ports = [{"name": "c", "image": "one", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    await pod(cluster, "port", "low", containers=ports)
    await pod(cluster, "near", "low", "1", labels={"app": "noisy"})
    await pod(cluster, "vip", "high", containers=ports)
    assert await placed(cluster) == {"port": "(one)", "near": "one", "vip": ""}
    term = {"labelSelector": {"matchLabels": {"app": "noisy"}}, "topologyKey": "kubernetes.io/hostname"}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await pod(cluster, "quiet", "high", "1", affinity=alone)
    assert (await placed(cluster))["near"] == "(one)"


async def test_freed_resources_are_reserved_for_the_nominated_pod(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await pod(cluster, "a", "low", "4")
    await pod(cluster, "vip", "high", "3")
    await pod(cluster, "hopeful", "middle", "2")
    await cluster.delete(PODS, "a", grace=0)
    assert await placed(cluster) == {"vip": "one", "hopeful": ""}


async def test_no_second_preemption_while_victims_terminate(cluster: WorkloadCluster) -> None:
    for node in ("one", "two"):
        await cluster.node(node)
        await pod(cluster, f"on-{node}", "low", "4", nodeSelector={"kubernetes.io/hostname": node})
    await pod(cluster, "vip", "high")
    before = await placed(cluster)
    await cluster.client.patch(NODES, "", "one", change={"metadata": {"labels": {"any": "change"}}})
    await cluster.pass_time(10)
    assert await placed(cluster) == before
    assert sorted(before.values()).count("(one)") + sorted(before.values()).count("(two)") == 1


async def test_equal_pods_are_nominated_for_different_nodes(cluster: WorkloadCluster) -> None:
    for node in ("one", "two"):
        await cluster.node(node)
        await pod(cluster, f"on-{node}", "low", "4", nodeSelector={"kubernetes.io/hostname": node})
    for name in ("x", "y"):
        await pod(cluster, name, "high", "4")
    assert {await nominated(cluster, name) for name in ("x", "y")} == {"one", "two"}
    for node in ("one", "two"):
        await cluster.delete(PODS, f"on-{node}", grace=0)
    assert sorted((await placed(cluster)).values()) == ["one", "two"]


async def test_higher_priority_pod_takes_over_a_nomination(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await pod(cluster, "a", "low", "4")
    await pod(cluster, "first", "middle", "4")
    assert await nominated(cluster, "first") == "one"
    await pod(cluster, "vip", "high", "4")
    assert (await nominated(cluster, "first"), await nominated(cluster, "vip")) == ("", "one")
    await cluster.delete(PODS, "a", grace=0)
    assert await placed(cluster) == {"first": "", "vip": "one"}


async def test_resources_of_a_deleted_nominated_pod_are_free(cluster: WorkloadCluster) -> None:
    await cluster.node("one")
    await pod(cluster, "a", "low", "4")
    await pod(cluster, "vip", "high", "4")
    await pod(cluster, "hopeful", "middle", "2")
    await cluster.delete(PODS, "a", grace=0)
    await cluster.delete(PODS, "vip", grace=0)
    assert await placed(cluster) == {"hopeful": "one"}


async def test_nomination_survives_a_restart() -> None:
    store = await sqlite.open_memory()
    async with VirtualTimeServer(store, names=["scheduler"]).running() as cluster:
        first = WorkloadCluster(cluster)
        await first.node("one")
        await pod(first, "a", "", "4")
        await pod(first, "vip", "system-cluster-critical", "3")
        assert await nominated(first, "vip") == "one"
    async with VirtualTimeServer(store, names=["scheduler"]).running() as cluster:
        second = WorkloadCluster(cluster)
        await pod(second, "hopeful", "", "2")
        await second.delete(PODS, "a", grace=0)
        assert await placed(second) == {"vip": "one", "hopeful": ""}
    await store.close()
