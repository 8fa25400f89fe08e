"""A whole cluster: workload controllers, the scheduler, simulated nodes and node lifecycle together."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.client.resources import NODES
from probate.controllers import registry
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import (
    DEPLOYMENTS,
    JOBS,
    NAMESPACE,
    WorkloadCluster,
    condition,
    name_of,
    replicas_of,
    template,
    workload_cluster,
)


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(*registry.API_CONTROLLERS, nodes=3) as cluster_:
        yield cluster_


async def images(cluster: WorkloadCluster) -> list[str]:
    return sorted(
        pod["spec"]["containers"][0]["image"] for pod in await cluster.pods() if "deletionTimestamp" not in pod["metadata"]
    )


async def test_deployment_rollout(cluster: WorkloadCluster) -> None:
    await cluster.create(DEPLOYMENTS, "web", replicas_of(6))
    await cluster.pass_time(1)
    status = (await cluster.get(DEPLOYMENTS, "web"))["status"]
    assert status["availableReplicas"] == 6
    assert {pod["spec"]["nodeName"] for pod in await cluster.pods()} == {"node-1", "node-2", "node-3"}
    await cluster.change(DEPLOYMENTS, "web", {"spec": {"template": template(image="two")}})
    for _ in range(10):
        await cluster.pass_time(1)
    assert await images(cluster) == ["two"] * 6
    assert len(await cluster.pods()) == 6
    assert (await cluster.get(DEPLOYMENTS, "web"))["status"]["updatedReplicas"] == 6


async def test_deployment_in_foreground_deletion_is_deleted_after_its_pods(cluster: WorkloadCluster) -> None:
    await cluster.create(DEPLOYMENTS, "web", replicas_of(3))
    await cluster.pass_time(1)
    await cluster.delete(DEPLOYMENTS, "web", "Foreground")
    assert len(await cluster.pods()) == 3
    assert await cluster.find(DEPLOYMENTS, "web") is not None
    await cluster.pass_time(1)
    assert await cluster.pods() == []
    assert await cluster.find(DEPLOYMENTS, "web") is None


async def test_jobs_complete_or_fail_by_the_exit_codes_of_their_pods(cluster: WorkloadCluster) -> None:
    for name, code in (("good", "0"), ("bad", "1")):
        pod = template(restartPolicy="Never")
        pod["metadata"]["annotations"] = {"probate.dev/exit-code": code}
        await cluster.create(JOBS, name, {"template": pod, "backoffLimit": 0, "completions": 2, "parallelism": 2})
    for _ in range(5):
        await cluster.pass_time(1)
    assert condition(await cluster.get(JOBS, "good"), "Complete")["status"] == "True"
    assert condition(await cluster.get(JOBS, "bad"), "Failed")["status"] == "True"
    assert not [pod for pod in await cluster.pods() if pod["metadata"].get("finalizers")]


async def test_pods_of_a_silent_node_are_replaced_on_other_nodes(cluster: WorkloadCluster) -> None:
    await cluster.create(DEPLOYMENTS, "web", replicas_of(3))
    await cluster.pass_time(1)
    await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"annotations": {"probate.dev/silent": "true"}}})
    await cluster.pass_time(60 + 301)
    await cluster.pass_time(2)
    alive = [pod for pod in await cluster.pods() if "deletionTimestamp" not in pod["metadata"]]
    assert len(alive) == 3
    assert "node-1" not in {pod["spec"]["nodeName"] for pod in alive}
    [stranded] = [pod for pod in await cluster.pods() if pod["spec"]["nodeName"] == "node-1"]
    await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"annotations": {"probate.dev/silent": None}}})
    await cluster.pass_time(1)
    assert await cluster.client.get(PODS, NAMESPACE, name_of(stranded)) is None
