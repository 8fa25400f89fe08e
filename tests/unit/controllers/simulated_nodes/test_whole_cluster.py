"""A whole cluster: workloads, the scheduler, simulated nodes and their health, together."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.client.resources import NODES
from probate.controllers import manager
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import DEPLOYMENTS, JOBS, NAMESPACE, Stage, condition, name_of, replicas_of, staged, template


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged(*manager.THROUGH_THE_API, nodes=3) as one:
        yield one


async def images(stage: Stage) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in await stage.pods() if "deletionTimestamp" not in pod["metadata"])


async def test_a_deployment_rolls(stage: Stage) -> None:
    await stage.make(DEPLOYMENTS, "web", replicas_of(6))
    await stage.pass_time(1)
    status = (await stage.get(DEPLOYMENTS, "web"))["status"]
    assert status["availableReplicas"] == 6
    assert {pod["spec"]["nodeName"] for pod in await stage.pods()} == {"node-1", "node-2", "node-3"}
    await stage.change(DEPLOYMENTS, "web", {"spec": {"template": template(image="two")}})
    for _ in range(10):
        await stage.pass_time(1)
    assert await images(stage) == ["two"] * 6
    assert len(await stage.pods()) == 6
    assert (await stage.get(DEPLOYMENTS, "web"))["status"]["updatedReplicas"] == 6


async def test_a_deployment_in_foreground_deletion_goes_after_its_pods(stage: Stage) -> None:
    await stage.make(DEPLOYMENTS, "web", replicas_of(3))
    await stage.pass_time(1)
    await stage.delete(DEPLOYMENTS, "web", "Foreground")
    assert len(await stage.pods()) == 3
    assert await stage.find(DEPLOYMENTS, "web") is not None
    await stage.pass_time(1)
    assert await stage.pods() == []
    assert await stage.find(DEPLOYMENTS, "web") is None


async def test_jobs_complete_and_fail_as_their_pods_are_told(stage: Stage) -> None:
    for name, code in (("good", "0"), ("bad", "1")):
        pod = template(restartPolicy="Never")
        pod["metadata"]["annotations"] = {"probate.dev/exit-code": code}
        await stage.make(JOBS, name, {"template": pod, "backoffLimit": 0, "completions": 2, "parallelism": 2})
    for _ in range(5):
        await stage.pass_time(1)
    assert condition(await stage.get(JOBS, "good"), "Complete")["status"] == "True"
    assert condition(await stage.get(JOBS, "bad"), "Failed")["status"] == "True"
    assert not [pod for pod in await stage.pods() if pod["metadata"].get("finalizers")]


async def test_pods_of_a_silent_node_are_replaced_elsewhere(stage: Stage) -> None:
    await stage.make(DEPLOYMENTS, "web", replicas_of(3))
    await stage.pass_time(1)
    await stage.client.patch(NODES, "", "node-1", {"metadata": {"annotations": {"probate.dev/silent": "true"}}})
    await stage.pass_time(60 + 301)
    await stage.pass_time(2)
    alive = [pod for pod in await stage.pods() if "deletionTimestamp" not in pod["metadata"]]
    assert len(alive) == 3
    assert "node-1" not in {pod["spec"]["nodeName"] for pod in alive}
    [left] = [pod for pod in await stage.pods() if pod["spec"]["nodeName"] == "node-1"]
    await stage.client.patch(NODES, "", "node-1", {"metadata": {"annotations": {"probate.dev/silent": None}}})
    await stage.pass_time(1)
    assert await stage.client.get(PODS, NAMESPACE, name_of(left)) is None
