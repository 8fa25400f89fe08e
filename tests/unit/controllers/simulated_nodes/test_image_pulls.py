"""Images that cannot be pulled, and the pods that wait for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.simulated_nodes import image_pulls
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import WorkloadCluster, condition, workload_cluster

UNPULLABLE_IMAGE = "example.com/web:404"


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("simulator", nodes=1, pod_start_delay=2.0, pod_stop_delay=3.0) as cluster_:
        yield cluster_


async def pod(cluster: WorkloadCluster, *names: str, **meta: Any) -> None:
    containers = [{"name": f"c{number}", "image": name} for number, name in enumerate(names)]
    await cluster.create(PODS, "a", {"containers": containers, "nodeName": "node-1"}, **meta)


async def status(cluster: WorkloadCluster) -> Object:
    pod_status: Object = (await cluster.get(PODS, "a"))["status"]
    return pod_status


def reasons(status: Object, field: str = "containerStatuses") -> list[str]:
    return [container_status["state"].get("waiting", {}).get("reason", "") for container_status in status[field]]


@pytest.mark.parametrize(
    ("image", "is_pullable"),
    [
        ("nginx", True),
        ("registry.k8s.io/e2e-test-images/httpd:2.4.38-4", True),
        ("example.com/invalid/web:1404", True),
        ("example.com/validator:404.1", True),
        ("webserver:404", False),
        ("foo:non-existent", False),
        ("nonexistent.example.com/web", False),
        ("invalid.registry.k8s.io/invalid/alpine:3.1", False),
        ("registry.invalid/web", False),
        ("registry.invalid:5000/web", False),
    ],
)
def test_unpullable_image_names(image: str, is_pullable: bool) -> None:
    pod = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": image}]}}
    assert image_pulls.unpullable_images(pod) == (frozenset() if is_pullable else {image})


async def test_pod_with_an_unpullable_image_is_pending(cluster: WorkloadCluster) -> None:
    await pod(cluster, "one", UNPULLABLE_IMAGE)
    await cluster.pass_time(2)
    pod_status = await status(cluster)
    assert (pod_status["phase"], reasons(pod_status)) == ("Pending", ["ContainerCreating", "ErrImagePull"])
    assert condition({"status": pod_status}, "Ready")["reason"] == "ContainersNotReady"
    assert condition({"status": pod_status}, "Initialized")["status"] == "True"
    await cluster.pass_time(2)
    pod_status = await status(cluster)
    assert (pod_status["phase"], reasons(pod_status)) == ("Pending", ["ContainerCreating", "ImagePullBackOff"])
    await cluster.pass_time(3600)
    assert await status(cluster) == pod_status


async def test_pod_runs_once_its_image_is_replaced(cluster: WorkloadCluster) -> None:
    await pod(cluster, UNPULLABLE_IMAGE)
    await cluster.pass_time(10)
    await cluster.change(PODS, "a", {"spec": {"containers": [{"name": "c0", "image": "two"}]}}, lists=True)
    pod_status = await status(cluster)
    assert (pod_status["phase"], condition({"status": pod_status}, "Ready")["status"]) == ("Running", "True")
    assert pod_status["containerStatuses"][0]["restartCount"] == 0


async def test_pull_annotation_makes_images_unpullable(cluster: WorkloadCluster) -> None:
    await pod(cluster, "one", annotations={"probate.dev/pull": "false"})
    await cluster.pass_time(10)
    assert (await status(cluster))["phase"] == "Pending"
    await cluster.change(PODS, "a", {"metadata": {"annotations": {"probate.dev/pull": None}}})
    assert (await status(cluster))["phase"] == "Running"


async def test_unpullable_init_container_image_blocks_later_containers(cluster: WorkloadCluster) -> None:
    first, second = {"name": "i", "image": "one"}, {"name": "j", "image": UNPULLABLE_IMAGE}
    third, containers = {"name": "k", "image": "one"}, [{"name": "c", "image": "one"}]
    await cluster.create(PODS, "a", {"initContainers": [first, second, third], "containers": containers, "nodeName": "node-1"})
    await cluster.pass_time(2)
    pod_status = await status(cluster)
    assert reasons(pod_status, "initContainerStatuses") == ["", "ErrImagePull", "PodInitializing"]
    assert (pod_status["phase"], reasons(pod_status)) == ("Pending", ["PodInitializing"])
    assert condition({"status": pod_status}, "Initialized")["reason"] == "ContainersNotInitialized"


async def test_pod_waiting_for_an_image_is_deleted_at_once_and_fails_at_its_deadline(cluster: WorkloadCluster) -> None:
    await pod(cluster, UNPULLABLE_IMAGE)
    await cluster.pass_time(2)
    await cluster.delete(PODS, "a")
    assert await cluster.find(PODS, "a") is None
    spec = {"containers": [{"name": "c", "image": UNPULLABLE_IMAGE}], "nodeName": "node-1", "activeDeadlineSeconds": 10}
    await cluster.create(PODS, "a", spec)
    await cluster.pass_time(10)
    pod_status = await status(cluster)
    assert (pod_status["phase"], pod_status["reason"]) == ("Failed", "DeadlineExceeded")


async def test_events_about_unpullable_images(cluster: WorkloadCluster) -> None:
    await pod(cluster, UNPULLABLE_IMAGE)
    await cluster.pass_time(4)
    assert {reason for reason, _ in await cluster.event_messages("a")} == {"Failed", "BackOff"}
