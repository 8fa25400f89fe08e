"""Pods on simulated nodes start, run and end by the clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from probate.settings import Settings
from probate.store.sqlite import store as sqlite
from support.virtual_time_server import VirtualTimeServer
from support.workload_cluster import NAMESPACE, WorkloadCluster, condition, name_of, workload_cluster


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("simulator", nodes=1, pod_start_delay=2.0, pod_stop_delay=3.0) as cluster_:
        yield cluster_


async def pod(
    cluster: WorkloadCluster, name: str = "a", *, node: str = "node-1", behavior: dict[str, str] | None = None, **spec: Any
) -> Object:
    """Creates a pod on a node, with these `probate.dev/` annotations."""
    annotations = {f"probate.dev/{word}": text for word, text in (behavior or {}).items()}
    containers = [{"name": "c", "image": "one"}]
    return await cluster.create(PODS, name, {"containers": containers, "nodeName": node, **spec}, annotations=annotations)


async def phase(cluster: WorkloadCluster, name: str = "a") -> str:
    phase_: str = (await cluster.get(PODS, name))["status"]["phase"]
    return phase_


async def container(cluster: WorkloadCluster, name: str = "a") -> Object:
    status: Object = (await cluster.get(PODS, name))["status"]["containerStatuses"][0]
    return status


async def test_pod_runs_and_is_ready_after_exactly_its_start_delay(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.pass_time(1.9)
    assert await phase(cluster) == "Pending"
    await cluster.pass_time(0.1)
    created = await cluster.get(PODS, "a")
    assert created["status"]["phase"] == "Running"
    assert {condition_["type"] for condition_ in created["status"]["conditions"] if condition_["status"] == "True"} >= {
        "Initialized",
        "ContainersReady",
        "Ready",
    }
    assert created["status"]["podIP"].startswith("10.128.0.")
    assert created["status"]["hostIP"].startswith("10.64.0.")
    container_status = created["status"]["containerStatuses"][0]
    assert (container_status["ready"], container_status["started"], container_status["restartCount"]) == (True, True, 0)
    assert "running" in container_status["state"]


async def test_delays_are_exact_although_timestamps_have_whole_seconds(cluster: WorkloadCluster) -> None:
    await cluster.pass_time(0.7)
    await pod(cluster)
    await cluster.pass_time(1.9)
    assert await phase(cluster) == "Pending"
    await cluster.pass_time(0.1)
    assert await phase(cluster) == "Running"


async def test_no_two_pods_have_the_same_address(cluster: WorkloadCluster) -> None:
    for number in range(20):
        await pod(cluster, f"p{number}")
    await cluster.pass_time(2)
    addresses = {pod_["status"]["podIP"] for pod_ in await cluster.pods()}
    assert len(addresses) == 20
    await cluster.delete(PODS, "p0", grace=0)
    await pod(cluster, "late")
    await cluster.pass_time(2)
    assert (await cluster.get(PODS, "late"))["status"]["podIP"] not in addresses


async def test_host_network_pod_has_the_address_of_its_node(cluster: WorkloadCluster) -> None:
    await pod(cluster, hostNetwork=True)
    await cluster.pass_time(2)
    status = (await cluster.get(PODS, "a"))["status"]
    assert status["podIP"] == status["hostIP"]


@pytest.mark.parametrize(("code", "expected_phase"), [("0", "Succeeded"), ("3", "Failed")])
async def test_pod_ends_after_its_duration_with_its_exit_code(cluster: WorkloadCluster, code: str, expected_phase: str) -> None:
    await pod(cluster, behavior={"duration": "5s", "exit-code": code}, restartPolicy="Never")
    await cluster.pass_time(6.9)
    assert await phase(cluster) == "Running"
    await cluster.pass_time(0.1)
    assert await phase(cluster) == expected_phase
    assert (await container(cluster))["state"]["terminated"]["exitCode"] == int(code)
    ready = condition(await cluster.get(PODS, "a"), "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted" if code == "0" else "PodFailed")


async def test_hook_of_a_helm_release_without_a_duration_never_ended(cluster: WorkloadCluster) -> None:
    spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": "node-1", "restartPolicy": "Never"}
    await cluster.create(PODS, "a", spec, annotations={"helm.sh/hook": "test"})
    await cluster.create(PODS, "b", spec)
    await cluster.pass_time(3)
    assert [await phase(cluster, name) for name in "ab"] == ["Succeeded", "Running"]


async def test_containers_restart_at_once_and_then_with_doubling_backoff(cluster: WorkloadCluster) -> None:
    await pod(cluster, behavior={"duration": "1s", "exit-code": "1"}, restartPolicy="Always")
    await cluster.pass_time(3)
    container_status = await container(cluster)
    assert container_status["restartCount"] == 1
    assert container_status["lastState"]["terminated"]["exitCode"] == 1
    await cluster.pass_time(1)
    container_status = await container(cluster)
    assert container_status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container_status["ready"] is False
    assert condition(await cluster.get(PODS, "a"), "Ready")["status"] == "False"
    await cluster.pass_time(9.9)
    assert (await container(cluster))["restartCount"] == 1
    await cluster.pass_time(0.1)
    assert (await container(cluster))["restartCount"] == 2
    assert condition(await cluster.get(PODS, "a"), "Ready")["status"] == "True"
    await cluster.pass_time(1 + 19.9)
    assert (await container(cluster))["restartCount"] == 2
    await cluster.pass_time(0.1)
    assert (await container(cluster))["restartCount"] == 3
    assert await phase(cluster) == "Running"


async def test_on_failure_restarts_until_success(cluster: WorkloadCluster) -> None:
    await pod(cluster, behavior={"duration": "1s", "exit-code": "1,0"}, restartPolicy="OnFailure")
    await cluster.pass_time(3)
    assert (await container(cluster))["restartCount"] == 1
    await cluster.pass_time(1)
    assert await phase(cluster) == "Succeeded"


async def test_deleted_pod_terminates_after_its_stop_delay(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.pass_time(2)
    async with cluster.server.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
        await cluster.delete(PODS, "a")
        await cluster.pass_time(2.9)
        assert await phase(cluster) == "Running"
        await cluster.pass_time(0.1)
        assert await cluster.find(PODS, "a") is None
    last = [event["object"]["status"] for event in events if event["type"] == "MODIFIED"][-1]
    assert last["phase"] == "Failed"
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_pod_is_killed_at_the_end_of_its_grace_period(cluster: WorkloadCluster) -> None:
    await pod(cluster, behavior={"stop-delay": "1h"}, terminationGracePeriodSeconds=10)
    await cluster.pass_time(2)
    async with cluster.server.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
        await cluster.delete(PODS, "a")
        await cluster.pass_time(9.9)
        assert await cluster.find(PODS, "a") is not None
        await cluster.pass_time(0.1)
        assert await cluster.find(PODS, "a") is None
    last = [event["object"]["status"] for event in events if event["type"] == "MODIFIED"][-1]
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


async def test_shortened_grace_period_is_used(cluster: WorkloadCluster) -> None:
    await pod(cluster, behavior={"stop-delay": "1h"})
    await cluster.pass_time(2)
    await cluster.delete(PODS, "a")
    await cluster.pass_time(3)
    await cluster.delete(PODS, "a", grace=5)
    await cluster.pass_time(1.9)
    assert await cluster.find(PODS, "a") is not None
    await cluster.pass_time(0.1)
    assert await cluster.find(PODS, "a") is None


async def test_unstarted_pod_is_deleted_at_once(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.delete(PODS, "a")
    assert await cluster.find(PODS, "a") is None


async def test_deleted_pod_held_by_a_finalizer_is_failed(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.change(PODS, "a", {"metadata": {"finalizers": ["example.com/hold"]}})
    await cluster.pass_time(2)
    await cluster.delete(PODS, "a")
    await cluster.pass_time(3)
    deleted = await cluster.get(PODS, "a")
    assert (deleted["status"]["phase"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Failed", 0)


async def test_ready_annotation_keeps_a_pod_not_ready(cluster: WorkloadCluster) -> None:
    await pod(cluster, behavior={"ready": "false"})
    await cluster.pass_time(2)
    created = await cluster.get(PODS, "a")
    assert (created["status"]["phase"], condition(created, "Ready")["status"]) == ("Running", "False")
    await cluster.change(PODS, "a", {"metadata": {"annotations": {"probate.dev/ready": None}}})
    assert condition(await cluster.get(PODS, "a"), "Ready")["status"] == "True"


async def test_readiness_gates(cluster: WorkloadCluster) -> None:
    await pod(cluster, readinessGates=[{"conditionType": "example.com/in"}])
    await cluster.pass_time(2)
    created = await cluster.get(PODS, "a")
    assert condition(created, "ContainersReady")["status"] == "True"
    assert condition(created, "Ready")["reason"] == "ReadinessGatesNotReady"
    conditions = [*created["status"]["conditions"], {"type": "example.com/in", "status": "True"}]
    await cluster.change(PODS, "a", {"status": {"conditions": conditions}}, part="status")
    assert condition(await cluster.get(PODS, "a"), "Ready")["status"] == "True"


async def test_pod_fails_at_its_active_deadline(cluster: WorkloadCluster) -> None:
    await pod(cluster, activeDeadlineSeconds=10)
    await cluster.pass_time(9.9)
    assert await phase(cluster) == "Running"
    await cluster.pass_time(0.1)
    status = (await cluster.get(PODS, "a"))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


async def test_init_containers_end_and_sidecars_run(cluster: WorkloadCluster) -> None:
    first, second = {"name": "i", "image": "one"}, {"name": "s", "image": "one", "restartPolicy": "Always"}
    await pod(cluster, initContainers=[first, second])
    await cluster.pass_time(2)
    statuses = (await cluster.get(PODS, "a"))["status"]["initContainerStatuses"]
    assert [next(iter(status["state"])) for status in statuses] == ["terminated", "running"]


async def test_conditions_have_the_observed_generation(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.pass_time(2)
    await cluster.change(PODS, "a", {"spec": {"activeDeadlineSeconds": 1000}})
    created = await cluster.get(PODS, "a")
    assert created["metadata"]["generation"] == 2
    assert {condition_["observedGeneration"] for condition_ in created["status"]["conditions"]} == {2}


async def test_ephemeral_containers_run_until_the_pod_ends(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.pass_time(2)
    added = {"name": "look", "image": "busybox"}
    await cluster.change(PODS, "a", {"spec": {"ephemeralContainers": [added]}}, part="ephemeralcontainers", lists=True)
    [status] = (await cluster.get(PODS, "a"))["status"]["ephemeralContainerStatuses"]
    assert (status["name"], list(status["state"]), status["ready"]) == ("look", ["running"], False)
    await cluster.pass_time(100)
    assert (await cluster.get(PODS, "a"))["status"]["ephemeralContainerStatuses"] == [status]
    await cluster.change(PODS, "a", {"metadata": {"finalizers": ["example.com/hold"]}})
    await cluster.delete(PODS, "a")
    await cluster.pass_time(3)
    [status] = (await cluster.get(PODS, "a"))["status"]["ephemeralContainerStatuses"]
    assert list(status["state"]) == ["terminated"]


async def test_pods_of_other_nodes_are_ignored(cluster: WorkloadCluster) -> None:
    await pod(cluster, node="real")
    await cluster.pass_time(60)
    assert await phase(cluster) == "Pending"
    assert "containerStatuses" not in (await cluster.get(PODS, "a"))["status"]


async def test_pods_of_a_silent_node_do_not_change(cluster: WorkloadCluster) -> None:
    await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"annotations": {"probate.dev/silent": "true"}}})
    await pod(cluster)
    await cluster.pass_time(60)
    assert await phase(cluster) == "Pending"
    await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"annotations": {"probate.dev/silent": None}}})
    await cluster.settle()
    assert await phase(cluster) == "Running"


async def test_idle_pod_causes_no_writes(cluster: WorkloadCluster) -> None:
    await pod(cluster)
    await cluster.pass_time(2)
    before = (await cluster.get(PODS, "a"))["metadata"]["resourceVersion"]
    await cluster.pass_time(3600)
    assert (await cluster.get(PODS, "a"))["metadata"]["resourceVersion"] == before
    assert [name_of(pod_) for pod_ in await cluster.pods()] == ["a"]


async def test_pods_continue_after_a_restart_and_keep_their_addresses() -> None:
    store, settings = await sqlite.open_memory(), Settings(nodes=1)
    async with VirtualTimeServer(store, names=["simulator"], settings=settings).running() as server:
        first = WorkloadCluster(server)
        await first.settle()
        await pod(first, "a")
        await first.pass_time(1)
        before = await first.get(PODS, "a")
    async with VirtualTimeServer(store, names=["simulator"], settings=settings).running() as server:
        second = WorkloadCluster(server)
        await second.settle()
        assert (await second.get(PODS, "a"))["status"] == before["status"]
        await pod(second, "b")
        await second.pass_time(1)
        assert (await second.get(PODS, "b"))["status"]["podIP"] != before["status"]["podIP"]
    await store.close()
