"""Pods on simulated nodes: they start, run and end by the clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from probate.settings import Settings
from probate.store.sqlite import store as sqlite
from support.virtual_time_server import Cluster
from support.workload_cluster import NAMESPACE, Object, Stage, condition, name_of, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("simulator", nodes=1, pod_start_delay=2.0, pod_stop_delay=3.0) as one:
        yield one


async def pod(stage: Stage, name: str = "a", *, node: str = "node-1", told: dict[str, str] | None = None, **spec: Any) -> Object:
    """A pod on a node, told by annotations."""
    annotations = {f"probate.dev/{word}": text for word, text in (told or {}).items()}
    containers = [{"name": "c", "image": "one"}]
    return await stage.make(PODS, name, {"containers": containers, "nodeName": node, **spec}, annotations=annotations)


async def phase(stage: Stage, name: str = "a") -> str:
    found: str = (await stage.get(PODS, name))["status"]["phase"]
    return found


async def container(stage: Stage, name: str = "a") -> Object:
    one: Object = (await stage.get(PODS, name))["status"]["containerStatuses"][0]
    return one


async def test_a_pod_runs_and_is_ready_after_exactly_its_delay(stage: Stage) -> None:
    await pod(stage)
    await stage.pass_time(1.9)
    assert await phase(stage) == "Pending"
    await stage.pass_time(0.1)
    found = await stage.get(PODS, "a")
    assert found["status"]["phase"] == "Running"
    assert {one["type"] for one in found["status"]["conditions"] if one["status"] == "True"} >= {
        "Initialized",
        "ContainersReady",
        "Ready",
    }
    assert found["status"]["podIP"].startswith("10.128.0.")
    assert found["status"]["hostIP"].startswith("10.64.0.")
    shown = found["status"]["containerStatuses"][0]
    assert (shown["ready"], shown["started"], shown["restartCount"]) == (True, True, 0)
    assert "running" in shown["state"]


async def test_delays_are_exact_although_objects_tell_whole_seconds(stage: Stage) -> None:
    await stage.pass_time(0.7)
    await pod(stage)
    await stage.pass_time(1.9)
    assert await phase(stage) == "Pending"
    await stage.pass_time(0.1)
    assert await phase(stage) == "Running"


async def test_no_two_pods_have_the_same_address(stage: Stage) -> None:
    for number in range(20):
        await pod(stage, f"p{number}")
    await stage.pass_time(2)
    addresses = {one["status"]["podIP"] for one in await stage.pods()}
    assert len(addresses) == 20
    await stage.delete(PODS, "p0", grace=0)
    await pod(stage, "late")
    await stage.pass_time(2)
    assert (await stage.get(PODS, "late"))["status"]["podIP"] not in addresses


async def test_a_pod_with_the_network_of_its_node_has_its_address(stage: Stage) -> None:
    await pod(stage, hostNetwork=True)
    await stage.pass_time(2)
    status = (await stage.get(PODS, "a"))["status"]
    assert status["podIP"] == status["hostIP"]


@pytest.mark.parametrize(("code", "ended"), [("0", "Succeeded"), ("3", "Failed")])
async def test_a_pod_ends_when_and_how_it_is_told(stage: Stage, code: str, ended: str) -> None:
    await pod(stage, told={"duration": "5s", "exit-code": code}, restartPolicy="Never")
    await stage.pass_time(6.9)
    assert await phase(stage) == "Running"
    await stage.pass_time(0.1)
    assert await phase(stage) == ended
    assert (await container(stage))["state"]["terminated"]["exitCode"] == int(code)
    ready = condition(await stage.get(PODS, "a"), "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted" if code == "0" else "PodFailed")


async def test_hook_of_a_helm_release_that_says_nothing_about_its_end_never_ended(stage: Stage) -> None:
    spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": "node-1", "restartPolicy": "Never"}
    await stage.make(PODS, "a", spec, annotations={"helm.sh/hook": "test"})
    await stage.make(PODS, "b", spec)
    await stage.pass_time(3)
    assert [await phase(stage, name) for name in "ab"] == ["Succeeded", "Running"]


async def test_containers_start_again_at_once_and_then_after_rests_that_double(stage: Stage) -> None:
    await pod(stage, told={"duration": "1s", "exit-code": "1"}, restartPolicy="Always")
    await stage.pass_time(3)
    shown = await container(stage)
    assert shown["restartCount"] == 1
    assert shown["lastState"]["terminated"]["exitCode"] == 1
    await stage.pass_time(1)
    shown = await container(stage)
    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert shown["ready"] is False
    assert condition(await stage.get(PODS, "a"), "Ready")["status"] == "False"
    await stage.pass_time(9.9)
    assert (await container(stage))["restartCount"] == 1
    await stage.pass_time(0.1)
    assert (await container(stage))["restartCount"] == 2
    assert condition(await stage.get(PODS, "a"), "Ready")["status"] == "True"
    await stage.pass_time(1 + 19.9)
    assert (await container(stage))["restartCount"] == 2
    await stage.pass_time(0.1)
    assert (await container(stage))["restartCount"] == 3
    assert await phase(stage) == "Running"


async def test_on_failure_starts_again_until_it_ends_well(stage: Stage) -> None:
    await pod(stage, told={"duration": "1s", "exit-code": "1,0"}, restartPolicy="OnFailure")
    await stage.pass_time(3)
    assert (await container(stage))["restartCount"] == 1
    await stage.pass_time(1)
    assert await phase(stage) == "Succeeded"


async def test_a_deleted_pod_ends_in_its_own_time_and_then_goes(stage: Stage) -> None:
    await pod(stage)
    await stage.pass_time(2)
    async with stage.cluster.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
        await stage.delete(PODS, "a")
        await stage.pass_time(2.9)
        assert await phase(stage) == "Running"
        await stage.pass_time(0.1)
        assert await stage.find(PODS, "a") is None
    last = [one["object"]["status"] for one in events if one["type"] == "MODIFIED"][-1]
    assert last["phase"] == "Failed"
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_pod_that_takes_longer_than_its_grace_period_is_killed_when_that_is_over(stage: Stage) -> None:
    await pod(stage, told={"stop-delay": "1h"}, terminationGracePeriodSeconds=10)
    await stage.pass_time(2)
    async with stage.cluster.watching(f"/api/v1/namespaces/{NAMESPACE}/pods") as events:
        await stage.delete(PODS, "a")
        await stage.pass_time(9.9)
        assert await stage.find(PODS, "a") is not None
        await stage.pass_time(0.1)
        assert await stage.find(PODS, "a") is None
    last = [one["object"]["status"] for one in events if one["type"] == "MODIFIED"][-1]
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


async def test_a_grace_period_that_is_made_shorter_holds(stage: Stage) -> None:
    await pod(stage, told={"stop-delay": "1h"})
    await stage.pass_time(2)
    await stage.delete(PODS, "a")
    await stage.pass_time(3)
    await stage.delete(PODS, "a", grace=5)
    await stage.pass_time(1.9)
    assert await stage.find(PODS, "a") is not None
    await stage.pass_time(0.1)
    assert await stage.find(PODS, "a") is None


async def test_a_pod_that_has_not_started_goes_at_once(stage: Stage) -> None:
    await pod(stage)
    await stage.delete(PODS, "a")
    assert await stage.find(PODS, "a") is None


async def test_a_deleted_pod_that_is_held_has_failed(stage: Stage) -> None:
    await pod(stage)
    await stage.change(PODS, "a", {"metadata": {"finalizers": ["example.com/hold"]}})
    await stage.pass_time(2)
    await stage.delete(PODS, "a")
    await stage.pass_time(3)
    found = await stage.get(PODS, "a")
    assert (found["status"]["phase"], found["metadata"]["deletionGracePeriodSeconds"]) == ("Failed", 0)


async def test_a_pod_that_is_told_not_to_be_ready_is_not_until_it_may(stage: Stage) -> None:
    await pod(stage, told={"ready": "false"})
    await stage.pass_time(2)
    found = await stage.get(PODS, "a")
    assert (found["status"]["phase"], condition(found, "Ready")["status"]) == ("Running", "False")
    await stage.change(PODS, "a", {"metadata": {"annotations": {"probate.dev/ready": None}}})
    assert condition(await stage.get(PODS, "a"), "Ready")["status"] == "True"


async def test_readiness_gates_hold(stage: Stage) -> None:
    await pod(stage, readinessGates=[{"conditionType": "example.com/in"}])
    await stage.pass_time(2)
    found = await stage.get(PODS, "a")
    assert condition(found, "ContainersReady")["status"] == "True"
    assert condition(found, "Ready")["reason"] == "ReadinessGatesNotReady"
    conditions = [*found["status"]["conditions"], {"type": "example.com/in", "status": "True"}]
    await stage.change(PODS, "a", {"status": {"conditions": conditions}}, "status")
    assert condition(await stage.get(PODS, "a"), "Ready")["status"] == "True"


async def test_a_pod_does_not_live_longer_than_its_deadline(stage: Stage) -> None:
    await pod(stage, activeDeadlineSeconds=10)
    await stage.pass_time(9.9)
    assert await phase(stage) == "Running"
    await stage.pass_time(0.1)
    status = (await stage.get(PODS, "a"))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


async def test_init_containers_end_and_sidecars_run(stage: Stage) -> None:
    first, second = {"name": "i", "image": "one"}, {"name": "s", "image": "one", "restartPolicy": "Always"}
    await pod(stage, initContainers=[first, second])
    await stage.pass_time(2)
    shown = (await stage.get(PODS, "a"))["status"]["initContainerStatuses"]
    assert [next(iter(one["state"])) for one in shown] == ["terminated", "running"]


async def test_conditions_say_which_version_of_the_pod_they_are_about(stage: Stage) -> None:
    await pod(stage)
    await stage.pass_time(2)
    await stage.change(PODS, "a", {"spec": {"activeDeadlineSeconds": 1000}})
    found = await stage.get(PODS, "a")
    assert found["metadata"]["generation"] == 2
    assert {one["observedGeneration"] for one in found["status"]["conditions"]} == {2}


async def test_ephemeral_containers_run_until_the_pod_ends(stage: Stage) -> None:
    await pod(stage)
    await stage.pass_time(2)
    added = {"name": "look", "image": "busybox"}
    await stage.change(PODS, "a", {"spec": {"ephemeralContainers": [added]}}, "ephemeralcontainers", lists=True)
    [shown] = (await stage.get(PODS, "a"))["status"]["ephemeralContainerStatuses"]
    assert (shown["name"], list(shown["state"]), shown["ready"]) == ("look", ["running"], False)
    await stage.pass_time(100)
    assert (await stage.get(PODS, "a"))["status"]["ephemeralContainerStatuses"] == [shown]
    await stage.change(PODS, "a", {"metadata": {"finalizers": ["example.com/hold"]}})
    await stage.delete(PODS, "a")
    await stage.pass_time(3)
    [shown] = (await stage.get(PODS, "a"))["status"]["ephemeralContainerStatuses"]
    assert list(shown["state"]) == ["terminated"]


async def test_pods_of_other_nodes_are_left_alone(stage: Stage) -> None:
    await pod(stage, node="real")
    await stage.pass_time(60)
    assert await phase(stage) == "Pending"
    assert "containerStatuses" not in (await stage.get(PODS, "a"))["status"]


async def test_nothing_happens_on_a_silent_node_until_it_is_back(stage: Stage) -> None:
    await stage.client.patch(NODES, "", "node-1", {"metadata": {"annotations": {"probate.dev/silent": "true"}}})
    await pod(stage)
    await stage.pass_time(60)
    assert await phase(stage) == "Pending"
    await stage.client.patch(NODES, "", "node-1", {"metadata": {"annotations": {"probate.dev/silent": None}}})
    await stage.settle()
    assert await phase(stage) == "Running"


async def test_nothing_is_written_while_nothing_happens(stage: Stage) -> None:
    await pod(stage)
    await stage.pass_time(2)
    before = (await stage.get(PODS, "a"))["metadata"]["resourceVersion"]
    await stage.pass_time(3600)
    assert (await stage.get(PODS, "a"))["metadata"]["resourceVersion"] == before
    assert [name_of(one) for one in await stage.pods()] == ["a"]


async def test_pods_go_on_after_a_restart_and_keep_their_addresses() -> None:
    store, settings = await sqlite.open_memory(), Settings(nodes=1)
    async with Cluster(store, names=["simulator"], settings=settings).running() as cluster:
        first = Stage(cluster)
        await first.settle()
        await pod(first, "a")
        await first.pass_time(1)
        before = await first.get(PODS, "a")
    async with Cluster(store, names=["simulator"], settings=settings).running() as cluster:
        second = Stage(cluster)
        await second.settle()
        assert (await second.get(PODS, "a"))["status"] == before["status"]
        await pod(second, "b")
        await second.pass_time(1)
        assert (await second.get(PODS, "b"))["status"]["podIP"] != before["status"]["podIP"]
    await store.close()
