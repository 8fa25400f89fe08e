"""Preemption: who leaves a node so that a more important pod can come, and what becomes of both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.client.objects import Kind
from probate.client.resources import NODES
from probate.controllers.workloads.owner_kinds import PODS
from probate.server.admission import priority
from probate.store.sqlite import store as sqlite
from support.virtual_time_server import Cluster
from support.workload_cluster import NAMESPACE, Object, Stage, condition, name_of, staged

CLASSES = Kind("scheduling.k8s.io", "v1", "priorityclasses")
BUDGETS = Kind("policy", "v1", "poddisruptionbudgets")
LEVELS = {"low": 10, "middle": 20, "high": 100, "polite": 1000}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("scheduler", "disruptions") as one:
        priority.install(one.cluster.api)
        for name, value in LEVELS.items():
            policy = "Never" if name == "polite" else "PreemptLowerPriority"
            await one.client.create(CLASSES, "", {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
        await one.cluster.api.configured.refresh_all()
        yield one


async def pod(stage: Stage, name: str, level: str, cpu: str = "2", *, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "one", "resources": {"requests": {"cpu": cpu}}}
    wanted = {"containers": [container], "priorityClassName": level, **spec}
    return await stage.make(PODS, name, wanted, labels=labels or {})


async def placed(stage: Stage) -> dict[str, str]:
    """Where pods are; those that leave in brackets."""
    found = {}
    for one in await stage.pods():
        node = one["spec"].get("nodeName", "")
        found[name_of(one)] = f"({node})" if "deletionTimestamp" in one["metadata"] else node
    return found


async def nominated(stage: Stage, name: str) -> str:
    node: str = (await stage.get(PODS, name))["status"].get("nominatedNodeName", "")
    return node


async def test_least_important_pod_leaves_and_the_other_comes_in_its_place(stage: Stage) -> None:
    await stage.node("one")
    await pod(stage, "a", "low")
    await pod(stage, "b", "middle")
    await pod(stage, "vip", "high")
    assert await placed(stage) == {"a": "(one)", "b": "one", "vip": ""}
    assert await nominated(stage, "vip") == "one"
    left = await stage.get(PODS, "a")
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    why = condition(left, "DisruptionTarget")
    assert (why["status"], why["reason"], why["observedGeneration"]) == ("True", "PreemptionByScheduler", 1)
    assert "Preempted" in {reason for reason, _ in await stage.told("a")}
    await stage.delete(PODS, "a", grace=0)
    assert await placed(stage) == {"b": "one", "vip": "one"}
    assert await nominated(stage, "vip") == ""


async def test_nobody_leaves_for_one_who_is_not_more_important_or_does_not_want_that(stage: Stage) -> None:
    await stage.node("one")
    await pod(stage, "a", "middle", "4")
    await pod(stage, "equal", "middle")
    await pod(stage, "less", "low")
    await pod(stage, "polite", "polite")
    assert await placed(stage) == {"a": "one", "equal": "", "less": "", "polite": ""}


async def test_nobody_leaves_in_vain(stage: Stage) -> None:
    await stage.node("one", labels={"disk": "slow"})
    await pod(stage, "a", "low", "4")
    await pod(stage, "large", "high", "5")
    await pod(stage, "elsewhere", "high", nodeSelector={"disk": "fast"})
    assert await placed(stage) == {"a": "one", "large": "", "elsewhere": ""}
    assert await nominated(stage, "large") == ""


async def test_no_more_leave_than_have_to(stage: Stage) -> None:
    await stage.node("one")
    for name, cpu in (("a", "1"), ("b", "1"), ("c", "2")):
        await pod(stage, name, "low", cpu)
    await pod(stage, "vip", "high", "2")
    assert await placed(stage) == {"a": "one", "b": "one", "c": "(one)", "vip": ""}


async def test_node_is_taken_where_the_victims_are_least_important(stage: Stage) -> None:
    for node, level in (("one", "middle"), ("two", "low"), ("three", "middle")):
        await stage.node(node)
        await pod(stage, f"on-{node}", level, "4", nodeSelector={"kubernetes.io/hostname": node})
    await pod(stage, "vip", "high")
    assert await nominated(stage, "vip") == "two"
    assert await placed(stage) == {"on-one": "one", "on-two": "(two)", "on-three": "three", "vip": ""}


async def test_budgets_are_broken_last(stage: Stage) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}
    await stage.client.create(BUDGETS, NAMESPACE, {"metadata": {"name": "db"}, "spec": spec})
    await stage.node("one")
    guarded = await pod(stage, "guarded", "low", labels={"app": "db"})
    await pod(stage, "other", "middle")
    await stage.run(guarded)
    await pod(stage, "first", "high")
    assert await placed(stage) == {"guarded": "one", "other": "(one)", "first": ""}
    await stage.delete(PODS, "other", grace=0)
    await pod(stage, "second", "high")
    assert await placed(stage) == {"guarded": "(one)", "first": "one", "second": ""}


async def test_ports_and_neighbours_make_pods_leave_too(stage: Stage) -> None:
    await stage.node("one")
    ports = [{"name": "c", "image": "one", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    await pod(stage, "port", "low", containers=ports)
    await pod(stage, "near", "low", "1", labels={"app": "noisy"})
    await pod(stage, "vip", "high", containers=ports)
    assert await placed(stage) == {"port": "(one)", "near": "one", "vip": ""}
    term = {"labelSelector": {"matchLabels": {"app": "noisy"}}, "topologyKey": "kubernetes.io/hostname"}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await pod(stage, "quiet", "high", "1", affinity=alone)
    assert (await placed(stage))["near"] == "(one)"


async def test_room_that_was_made_is_kept_for_whom_it_was_made(stage: Stage) -> None:
    await stage.node("one")
    await pod(stage, "a", "low", "4")
    await pod(stage, "vip", "high", "3")
    await pod(stage, "hopeful", "middle", "2")
    await stage.delete(PODS, "a", grace=0)
    assert await placed(stage) == {"vip": "one", "hopeful": ""}


async def test_while_somebody_leaves_nobody_else_has_to(stage: Stage) -> None:
    for node in ("one", "two"):
        await stage.node(node)
        await pod(stage, f"on-{node}", "low", "4", nodeSelector={"kubernetes.io/hostname": node})
    await pod(stage, "vip", "high")
    before = await placed(stage)
    await stage.client.patch(NODES, "", "one", {"metadata": {"labels": {"any": "change"}}})
    await stage.pass_time(10)
    assert await placed(stage) == before
    assert sorted(before.values()).count("(one)") + sorted(before.values()).count("(two)") == 1


async def test_pods_that_are_alike_all_get_room(stage: Stage) -> None:
    for node in ("one", "two"):
        await stage.node(node)
        await pod(stage, f"on-{node}", "low", "4", nodeSelector={"kubernetes.io/hostname": node})
    for name in ("x", "y"):
        await pod(stage, name, "high", "4")
    assert {await nominated(stage, name) for name in ("x", "y")} == {"one", "two"}
    for node in ("one", "two"):
        await stage.delete(PODS, f"on-{node}", grace=0)
    assert sorted((await placed(stage)).values()) == ["one", "two"]


async def test_pod_that_is_more_important_still_takes_the_room_of_one_that_waits(stage: Stage) -> None:
    await stage.node("one")
    await pod(stage, "a", "low", "4")
    await pod(stage, "first", "middle", "4")
    assert await nominated(stage, "first") == "one"
    await pod(stage, "vip", "high", "4")
    assert (await nominated(stage, "first"), await nominated(stage, "vip")) == ("", "one")
    await stage.delete(PODS, "a", grace=0)
    assert await placed(stage) == {"first": "", "vip": "one"}


async def test_room_of_one_that_gives_up_is_for_others(stage: Stage) -> None:
    await stage.node("one")
    await pod(stage, "a", "low", "4")
    await pod(stage, "vip", "high", "4")
    await pod(stage, "hopeful", "middle", "2")
    await stage.delete(PODS, "a", grace=0)
    await stage.delete(PODS, "vip", grace=0)
    assert await placed(stage) == {"hopeful": "one"}


async def test_room_is_kept_after_a_restart_too() -> None:
    store = await sqlite.open_memory()
    async with Cluster(store, names=["scheduler"]).running() as cluster:
        first = Stage(cluster)
        await first.node("one")
        await pod(first, "a", "", "4")
        await pod(first, "vip", "system-cluster-critical", "3")
        assert await nominated(first, "vip") == "one"
    async with Cluster(store, names=["scheduler"]).running() as cluster:
        second = Stage(cluster)
        await pod(second, "hopeful", "", "2")
        await second.delete(PODS, "a", grace=0)
        assert await placed(second) == {"vip": "one", "hopeful": ""}
    await store.close()
