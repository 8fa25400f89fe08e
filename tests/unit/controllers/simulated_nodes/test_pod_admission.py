"""What a simulated node has for its pods: which it takes, and what becomes of those that want more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import Object, Stage, condition, name_of, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("simulator", nodes=1, pod_start_delay=1.0, pod_stop_delay=1.0) as one:
        yield one


def asking(cpu: str) -> Object:
    return {"requests": {"cpu": cpu}, "limits": {"memory": "1Gi"}}


async def pod(stage: Stage, name: str, resources: Object | None = None, **spec: Any) -> None:
    containers = [{"name": "c", "image": "one", "resources": resources or {}}]
    await stage.make(PODS, name, {"containers": containers, "nodeName": "node-1", **spec})


async def status(stage: Stage, name: str) -> Object:
    found: Object = (await stage.get(PODS, name))["status"]
    return found


async def fates(stage: Stage) -> dict[str, str]:
    return {name_of(one): one["status"].get("reason") or one["status"]["phase"] for one in await stage.pods()}


def with_port(number: int, **port: Any) -> list[Object]:
    return [{"name": "c", "image": "one", "ports": [{"containerPort": 80, "hostPort": number, **port}]}]


async def test_pods_that_ask_for_more_than_is_left_are_refused(stage: Stage) -> None:
    for name in ("a", "b", "c"):
        await pod(stage, name, asking("30"))
    await stage.pass_time(1)
    assert await fates(stage) == {"a": "Running", "b": "Running", "c": "OutOfcpu"}
    told = await status(stage, "c")
    assert (told["phase"], told["observedGeneration"]) == ("Failed", 1)
    assert "containerStatuses" not in told
    assert [reason for reason, _ in await stage.told("c")] == ["OutOfcpu"]


async def test_room_of_a_pod_that_has_ended_or_is_gone_is_free(stage: Stage) -> None:
    await pod(stage, "a", asking("60"))
    await stage.pass_time(1)
    await stage.delete(PODS, "a")
    await stage.pass_time(1)
    await pod(stage, "b", asking("60"), activeDeadlineSeconds=10)
    await stage.pass_time(10)
    await pod(stage, "c", asking("60"))
    await stage.pass_time(1)
    assert await fates(stage) == {"b": "DeadlineExceeded", "c": "Running"}


async def test_resources_that_the_node_says_nothing_of_are_not_its_business(stage: Stage) -> None:
    await pod(stage, "a", {"limits": {"example.com/foo": "3"}})
    await stage.pass_time(1)
    assert await fates(stage) == {"a": "Running"}


@pytest.mark.parametrize(
    ("other", "fate"),
    [
        (with_port(8080), "NodePorts"),
        (with_port(8080, hostIP="127.0.0.1"), "NodePorts"),
        (with_port(8081), "Running"),
        (with_port(8080, protocol="UDP"), "Running"),
    ],
    ids=["same", "same at one address", "another", "another protocol"],
)
async def test_port_of_the_node_is_had_by_one(stage: Stage, other: list[Object], fate: str) -> None:
    await pod(stage, "a", containers=with_port(8080))
    await pod(stage, "b", containers=other)
    await stage.pass_time(1)
    assert await fates(stage) == {"a": "Running", "b": fate}


async def test_pod_that_wants_another_node_is_refused_and_one_that_runs_is_not(stage: Stage) -> None:
    await pod(stage, "a", nodeSelector={"disk": "fast"})
    await stage.client.patch(NODES, "", "node-1", {"metadata": {"labels": {"disk": "fast"}}})
    await stage.settle()
    await pod(stage, "b", nodeSelector={"disk": "slow"})
    await stage.pass_time(1)
    assert await fates(stage) == {"a": "Running", "b": "NodeAffinity"}
    await stage.client.patch(NODES, "", "node-1", {"metadata": {"labels": {"disk": "slow"}}})
    await stage.pass_time(60)
    assert await fates(stage) == {"a": "Running", "b": "NodeAffinity"}


async def test_containers_say_what_they_have(stage: Stage) -> None:
    await pod(stage, "a", asking("2"))
    await stage.pass_time(1)
    stated = (await stage.get(PODS, "a"))["spec"]["containers"][0]["resources"]
    [shown] = (await status(stage, "a"))["containerStatuses"]
    assert (shown["resources"], shown["allocatedResources"]) == (stated, stated["requests"])


async def resize(stage: Stage, name: str, cpu: str) -> None:
    change = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    await stage.change(PODS, name, change, "resize", lists=True)


async def has(stage: Stage, name: str) -> str:
    cpu: str = (await status(stage, name))["containerStatuses"][0]["resources"]["requests"]["cpu"]
    return cpu


async def test_pod_that_wants_more_gets_it_if_there_is_enough(stage: Stage) -> None:
    await pod(stage, "a", asking("2"))
    await stage.pass_time(1)
    await resize(stage, "a", "40")
    assert await has(stage, "a") == "40"
    assert condition(await stage.get(PODS, "a"), "PodResizePending") == {}
    await pod(stage, "b", asking("30"))
    await stage.pass_time(1)
    assert (await fates(stage))["b"] == "OutOfcpu"


async def test_pod_that_wants_more_than_is_left_waits_for_others_to_go(stage: Stage) -> None:
    for name in ("a", "b"):
        await pod(stage, name, asking("30"))
    await stage.pass_time(1)
    await resize(stage, "a", "40")
    waits = condition(await stage.get(PODS, "a"), "PodResizePending")
    assert (waits["status"], waits["reason"], waits["observedGeneration"]) == ("True", "Deferred", 2)
    assert await has(stage, "a") == "30"
    await stage.delete(PODS, "b")
    await stage.pass_time(1)
    assert await has(stage, "a") == "40"
    assert condition(await stage.get(PODS, "a"), "PodResizePending") == {}


async def test_pod_that_wants_more_than_there_is_does_not_get_it(stage: Stage) -> None:
    await pod(stage, "a", asking("2"))
    await stage.pass_time(1)
    await resize(stage, "a", "65")
    assert condition(await stage.get(PODS, "a"), "PodResizePending")["reason"] == "Infeasible"
    assert await has(stage, "a") == "2"
    await resize(stage, "a", "3")
    assert await has(stage, "a") == "3"
    assert condition(await stage.get(PODS, "a"), "PodResizePending") == {}
