"""Workloads over minutes, on a whole cluster with a virtual clock. kubectl/test_pod_lifecycle.py tests what takes seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from probate.client.resources import NODES
from probate.controllers import registry
from probate.controllers.workloads.owner_kinds import CRON_JOB, DAEMON_SET, PODS
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

CRON_JOBS, DAEMON_SETS = CRON_JOB.resource, DAEMON_SET.resource


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(*registry.API_CONTROLLERS, nodes=3) as one:
        yield one


async def test_cronjob_creates_jobs_and_prunes_them(stage: WorkloadCluster) -> None:
    job = {"spec": {"template": template({"app": "work"}, restartPolicy="Never")}}
    cronjob = await stage.create(CRON_JOBS, "often", {"schedule": "* * * * *", "jobTemplate": job})
    all_jobs: dict[str, None] = {}
    for minute in range(1, 8):
        await stage.pass_time(60)
        jobs = sorted(name_of(job) for job in await stage.all(JOBS, cronjob))
        all_jobs |= dict.fromkeys(jobs)
        assert len(all_jobs) == minute, "one Job each minute"
        assert jobs == list(all_jobs)[-3:], "not the default number of finished Jobs"
        assert sorted(pod["metadata"]["labels"]["job-name"] for pod in await stage.pods()) == jobs


async def test_finished_job_is_deleted_exactly_after_its_ttl(stage: WorkloadCluster) -> None:
    await stage.create(JOBS, "brief", {"ttlSecondsAfterFinished": 5, "template": template({"app": "work"}, restartPolicy="Never")})
    await stage.pass_time(2)
    assert condition(await stage.get(JOBS, "brief"), "Complete")["status"] == "True"
    await stage.pass_time(4.9)
    assert "deletionTimestamp" not in (await stage.get(JOBS, "brief"))["metadata"]
    assert len(await stage.pods()) == 1
    await stage.pass_time(0.1)
    assert (await stage.find(JOBS, "brief"), await stage.pods()) == (None, [])


async def test_all_pods_of_a_drained_and_deleted_node_are_deleted(stage: WorkloadCluster) -> None:
    agents = {"app": "agent"}
    await stage.create(DEPLOYMENTS, "web", replicas_of(6))
    await stage.create(DAEMON_SETS, "agent", {"selector": {"matchLabels": agents}, "template": template(agents)})
    await stage.pass_time(2)
    await stage.client.patch(NODES, "", "node-1", change={"spec": {"unschedulable": True}})
    evicted = [pod for pod in await stage.pods() if pod["spec"]["nodeName"] == "node-1" and pod["metadata"]["labels"] != agents]
    for pod in evicted:
        path = PODS.path(NAMESPACE, name_of(pod), "eviction")
        assert (await stage.server.request("POST", path, {"metadata": {"name": name_of(pod)}})).code == 201
    await stage.pass_time(2)
    assert await labels_on(stage, "node-1") == ["agent"]
    assert (await stage.get(DEPLOYMENTS, "web"))["status"]["readyReplicas"] == 6
    await stage.client.delete(NODES, "", "node-1")
    await stage.pass_time(60)
    assert await labels_on(stage, "node-1") == []
    assert await stage.client.get(NODES, "", "node-1") is None
    assert (await stage.get(DEPLOYMENTS, "web"))["status"]["readyReplicas"] == 6
    assert (await stage.get(DAEMON_SETS, "agent"))["status"]["numberReady"] == 2


async def labels_on(stage: WorkloadCluster, node: str) -> list[str]:
    """Returns the `app` labels of the pods on a node."""
    return sorted(pod["metadata"]["labels"]["app"] for pod in await stage.pods() if pod["spec"]["nodeName"] == node)


async def test_all_pods_of_a_deleted_node_are_replaced_elsewhere(stage: WorkloadCluster) -> None:
    await stage.create(DEPLOYMENTS, "web", replicas_of(6))
    await stage.pass_time(2)
    assert await labels_on(stage, "node-1") == ["web", "web"]
    await stage.client.delete(NODES, "", "node-1")
    await stage.pass_time(60)
    assert await labels_on(stage, "node-1") == []
    assert (await stage.get(DEPLOYMENTS, "web"))["status"]["readyReplicas"] == 6


async def test_queue_lengths_of_controllers_are_metrics_and_return_to_zero(stage: WorkloadCluster) -> None:
    async def queue_lengths() -> dict[str, float]:
        text = (await stage.server.request("GET", "/metrics")).body.decode()
        [found] = [one for one in text_string_to_metric_families(text) if one.name == "probate_controller_queue_length"]
        return {one.labels["controller"]: one.value for one in found.samples}

    before = await queue_lengths()
    await stage.create(DEPLOYMENTS, "web", replicas_of(3, progressDeadlineSeconds=100_000))
    assert (await queue_lengths())["deployment-controller"] == 1  # a delayed check of its progress
    await stage.pass_time(2)
    await stage.delete(DEPLOYMENTS, "web", "Foreground")
    await stage.pass_time(2)
    assert await queue_lengths() == before
