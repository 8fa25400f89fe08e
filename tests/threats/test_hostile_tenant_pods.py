"""A tenant's pods try to keep the nodes from those of others: by priorities, which tenants choose, and by what they write."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.api.objects import Object
from probate.client.objects import STRATEGIC_MERGE_PATCH, GroupVersionResource
from probate.controllers.workloads.owner_kinds import PODS
from support.stored_tenants import create_tenant
from support.workload_cluster import WorkloadCluster, workload_cluster

CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
HOSTILE, OTHERS = "111111-web", ("222222-web", "plain")


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("scheduler", "disruptions") as one:
        one.server.api.admission.priority.subscribe_to(one.server.api.admission.configuration)
        for tenant in ("111111", "222222"):
            await create_tenant(one.server.store, tenant)
        for name in (HOSTILE, *OTHERS):
            await one.client.create(NAMESPACES, "", {"metadata": {"name": name}})
        await one.client.create(CLASSES, "", {"metadata": {"name": "111111-high"}, "value": 1_000_000_000})
        await one.server.api.admission.configuration.refresh_all()
        yield one


async def create_pod(cluster: WorkloadCluster, namespace: str, name: str, cpu: str, level: str = "") -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], **({"priorityClassName": level} if level else {})}
    await cluster.client.create(PODS, namespace, {"metadata": {"name": name}, "spec": spec})


async def get_pod(cluster: WorkloadCluster, namespace: str, name: str) -> Object:
    found = await cluster.client.get(PODS, namespace, name)
    assert found is not None
    return found


async def nominate(cluster: WorkloadCluster, namespace: str, name: str) -> None:
    change = {"status": {"nominatedNodeName": "one"}}
    await cluster.client.patch(PODS, namespace, name, change=change, subresource="status", media=STRATEGIC_MERGE_PATCH)
    await cluster.settle()


@pytest.mark.parametrize("hostile", [HOSTILE, "plain"])
async def test_pod_that_never_fits_reserved_a_node(cluster: WorkloadCluster, hostile: str) -> None:
    """The status of a pod says for which node it is nominated, and its author can write that. A platform's pod does reserve it."""
    level = "111111-high" if hostile == HOSTILE else ""
    await cluster.node("one")
    await create_pod(cluster, hostile, "huge", "1000", level)
    await nominate(cluster, hostile, "huge")
    await create_pod(cluster, "222222-web", "p", "1")
    await cluster.settle()
    placed = (await get_pod(cluster, "222222-web", "p"))["spec"].get("nodeName")
    assert placed == ("one" if hostile == HOSTILE else None)


async def test_pods_of_high_priority_went_first(cluster: WorkloadCluster) -> None:
    for number in range(6):
        await create_pod(cluster, HOSTILE, f"p{number}", "1", "111111-high")
    for namespace in OTHERS:
        await create_pod(cluster, namespace, "p", "1")
    await cluster.settle()
    await cluster.node("one")
    await cluster.settle()
    for namespace in OTHERS:
        assert (await get_pod(cluster, namespace, "p"))["spec"]["nodeName"] == "one"
    taken = [(await get_pod(cluster, HOSTILE, f"p{number}"))["spec"].get("nodeName") for number in range(6)]
    assert taken.count("one") == 2
