"""Node admission and resize: which pods a simulated node accepts, and whether a resize is granted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import WorkloadCluster, condition, name_of, workload_cluster


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("simulator", nodes=1, pod_start_delay=1.0, pod_stop_delay=1.0) as cluster_:
        yield cluster_


def resources_for(cpu: str) -> Object:
    return {"requests": {"cpu": cpu}, "limits": {"memory": "1Gi"}}


async def pod(cluster: WorkloadCluster, name: str, resources: Object | None = None, **spec: Any) -> None:
    containers = [{"name": "c", "image": "one", "resources": resources or {}}]
    await cluster.create(PODS, name, {"containers": containers, "nodeName": "node-1", **spec})


async def status(cluster: WorkloadCluster, name: str) -> Object:
    pod_status: Object = (await cluster.get(PODS, name))["status"]
    return pod_status


async def outcomes(cluster: WorkloadCluster) -> dict[str, str]:
    return {name_of(pod_): pod_["status"].get("reason") or pod_["status"]["phase"] for pod_ in await cluster.pods()}


def with_port(number: int, **port: Any) -> list[Object]:
    return [{"name": "c", "image": "one", "ports": [{"containerPort": 80, "hostPort": number, **port}]}]


async def test_pods_that_request_more_than_is_free_are_rejected(cluster: WorkloadCluster) -> None:
    for name in ("a", "b", "c"):
        await pod(cluster, name, resources_for("30"))
    await cluster.pass_time(1)
    assert await outcomes(cluster) == {"a": "Running", "b": "Running", "c": "OutOfcpu"}
    pod_status = await status(cluster, "c")
    assert (pod_status["phase"], pod_status["observedGeneration"]) == ("Failed", 1)
    assert "containerStatuses" not in pod_status
    assert [reason for reason, _ in await cluster.event_messages("c")] == ["OutOfcpu"]


async def test_resources_of_finished_and_deleted_pods_are_free(cluster: WorkloadCluster) -> None:
    await pod(cluster, "a", resources_for("60"))
    await cluster.pass_time(1)
    await cluster.delete(PODS, "a")
    await cluster.pass_time(1)
    await pod(cluster, "b", resources_for("60"), activeDeadlineSeconds=10)
    await cluster.pass_time(10)
    await pod(cluster, "c", resources_for("60"))
    await cluster.pass_time(1)
    assert await outcomes(cluster) == {"b": "DeadlineExceeded", "c": "Running"}


async def test_resources_that_the_node_does_not_report_are_not_checked(cluster: WorkloadCluster) -> None:
    await pod(cluster, "a", {"limits": {"example.com/foo": "3"}})
    await cluster.pass_time(1)
    assert await outcomes(cluster) == {"a": "Running"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        (with_port(8080), "NodePorts"),
        (with_port(8080, hostIP="127.0.0.1"), "NodePorts"),
        (with_port(8081), "Running"),
        (with_port(8080, protocol="UDP"), "Running"),
    ],
    ids=["same", "same at one address", "another", "another protocol"],
)
async def test_host_port_conflict(cluster: WorkloadCluster, containers: list[Object], expected: str) -> None:
    await pod(cluster, "a", containers=with_port(8080))
    await pod(cluster, "b", containers=containers)
    await cluster.pass_time(1)
    assert await outcomes(cluster) == {"a": "Running", "b": expected}


async def test_node_selector_is_checked_at_admission_only(cluster: WorkloadCluster) -> None:
    await pod(cluster, "a", nodeSelector={"disk": "fast"})
    await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"labels": {"disk": "fast"}}})
    await cluster.settle()
    await pod(cluster, "b", nodeSelector={"disk": "slow"})
    await cluster.pass_time(1)
    assert await outcomes(cluster) == {"a": "Running", "b": "NodeAffinity"}
    await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"labels": {"disk": "slow"}}})
    await cluster.pass_time(60)
    assert await outcomes(cluster) == {"a": "Running", "b": "NodeAffinity"}


async def test_container_status_shows_resources(cluster: WorkloadCluster) -> None:
    await pod(cluster, "a", resources_for("2"))
    await cluster.pass_time(1)
    resources = (await cluster.get(PODS, "a"))["spec"]["containers"][0]["resources"]
    [container_status] = (await status(cluster, "a"))["containerStatuses"]
    assert (container_status["resources"], container_status["allocatedResources"]) == (resources, resources["requests"])


async def resize(cluster: WorkloadCluster, name: str, cpu: str) -> None:
    patch = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    await cluster.change(PODS, name, patch, part="resize", lists=True)


async def allocated_cpu(cluster: WorkloadCluster, name: str) -> str:
    cpu: str = (await status(cluster, name))["containerStatuses"][0]["resources"]["requests"]["cpu"]
    return cpu


async def test_resize_is_granted_if_resources_are_free(cluster: WorkloadCluster) -> None:
    await pod(cluster, "a", resources_for("2"))
    await cluster.pass_time(1)
    await resize(cluster, "a", "40")
    assert await allocated_cpu(cluster, "a") == "40"
    assert condition(await cluster.get(PODS, "a"), "PodResizePending") == {}
    await pod(cluster, "b", resources_for("30"))
    await cluster.pass_time(1)
    assert (await outcomes(cluster))["b"] == "OutOfcpu"


async def test_resize_is_deferred_until_resources_are_free(cluster: WorkloadCluster) -> None:
    for name in ("a", "b"):
        await pod(cluster, name, resources_for("30"))
    await cluster.pass_time(1)
    await resize(cluster, "a", "40")
    pending = condition(await cluster.get(PODS, "a"), "PodResizePending")
    assert (pending["status"], pending["reason"], pending["observedGeneration"]) == ("True", "Deferred", 2)
    assert await allocated_cpu(cluster, "a") == "30"
    await cluster.delete(PODS, "b")
    await cluster.pass_time(1)
    assert await allocated_cpu(cluster, "a") == "40"
    assert condition(await cluster.get(PODS, "a"), "PodResizePending") == {}


async def test_resize_beyond_the_node_is_infeasible(cluster: WorkloadCluster) -> None:
    await pod(cluster, "a", resources_for("2"))
    await cluster.pass_time(1)
    await resize(cluster, "a", "65")
    assert condition(await cluster.get(PODS, "a"), "PodResizePending")["reason"] == "Infeasible"
    assert await allocated_cpu(cluster, "a") == "2"
    await resize(cluster, "a", "3")
    assert await allocated_cpu(cluster, "a") == "3"
    assert condition(await cluster.get(PODS, "a"), "PodResizePending") == {}
