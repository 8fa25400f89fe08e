"""PodDisruptionBudgets: how many pods may be given up, and evictions that go by it."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.timestamps import timestamp
from probate.controllers.workloads.disruption.controller import BUDGET
from probate.controllers.workloads.owner_kinds import DAEMON_SET, DEPLOYMENT, PODS, REPLICA_SET, STATEFUL_SET
from support.workload_cluster import (
    DEPLOYMENTS,
    LABELS,
    NAMESPACE,
    REPLICA_SETS,
    Object,
    Stage,
    condition,
    name_of,
    replicas_of,
    staged,
)

BUDGETS = BUDGET.resource
ALL = ("replicasets", "deployments", "disruptions")


def covering(**spec: Any) -> Object:
    return {"selector": {"matchLabels": LABELS}, **spec}


async def counts(stage: Stage) -> tuple[int, int, int, int]:
    """Allowed, current, desired, expected."""
    status = (await stage.get(BUDGETS, "b"))["status"]
    return status["disruptionsAllowed"], status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]


async def evict(stage: Stage, pod: Object) -> int:
    body = {"metadata": {"name": name_of(pod)}}
    told = await stage.cluster.ask("POST", f"{PODS.path(NAMESPACE, name_of(pod))}/eviction", body)
    await stage.settle()
    return told.code


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"minAvailable": 2}, (1, 3, 2, 4)),
        ({"minAvailable": 3}, (0, 3, 3, 4)),
        ({"minAvailable": "50%"}, (1, 3, 2, 4)),
        ({"minAvailable": "51%"}, (0, 3, 3, 4)),
        ({"maxUnavailable": 1}, (0, 3, 3, 4)),
        ({"maxUnavailable": 2}, (1, 3, 2, 4)),
        ({"maxUnavailable": "26%"}, (1, 3, 2, 4)),
        ({"maxUnavailable": 9}, (3, 3, 0, 4)),
    ],
)
async def test_budget_of_four_pods_of_which_three_serve(spec: Object, wanted: tuple[int, int, int, int]) -> None:
    async with staged(*ALL) as stage:
        await stage.make(REPLICA_SETS, "web", replicas_of(4))
        first, second, third, _ = await stage.pods()
        await stage.make(BUDGETS, "b", covering(**spec))
        await stage.run(first, second, third)
        assert await counts(stage) == wanted
        budget = await stage.get(BUDGETS, "b")
        said = condition(budget, "DisruptionAllowed")
        assert (said["status"], said["reason"]) == (("True", "SufficientPods") if wanted[0] else ("False", "InsufficientPods"))
        assert budget["status"]["observedGeneration"] == said["observedGeneration"] == budget["metadata"]["generation"]


async def test_deployment_says_how_many_pods_there_should_be_and_not_its_replica_set() -> None:
    async with staged("disruptions") as stage:
        top = await stage.make(DEPLOYMENTS, "web", replicas_of(5))
        middle = await stage.make(REPLICA_SETS, "web-1", replicas_of(2), ownerReferences=[DEPLOYMENT.reference(top)])
        pod = await stage.pod("a", ownerReferences=[REPLICA_SET.reference(middle)])
        await stage.run(pod)
        await stage.make(BUDGETS, "b", covering(maxUnavailable=1))
        assert await counts(stage) == (0, 1, 4, 5)
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
        assert await counts(stage) == (1, 1, 0, 1)


async def test_stateful_set_says_how_many_pods_there_should_be() -> None:
    async with staged("disruptions", "statefulsets") as stage:
        await stage.make(STATEFUL_SET.resource, "web", replicas_of(3))
        await stage.make(BUDGETS, "b", covering(maxUnavailable=1))
        assert await counts(stage) == (0, 0, 2, 3)


async def test_budget_of_no_pods_allows_nothing() -> None:
    async with staged(*ALL) as stage:
        await stage.make(BUDGETS, "b", covering(minAvailable=0))
        assert await counts(stage) == (0, 0, 0, 0)
        assert ("NoPods", "No matching pods found") in await stage.told("b")


async def test_budget_that_cannot_be_reckoned_allows_nothing_and_says_why() -> None:
    async with staged("disruptions") as stage:
        template = replicas_of(0)["template"]
        owner = await stage.make(DAEMON_SET.resource, "d", {"selector": {"matchLabels": LABELS}, "template": template})
        pod = await stage.pod("a", ownerReferences=[DAEMON_SET.reference(owner)])
        await stage.make(BUDGETS, "b", covering(maxUnavailable=1))
        await stage.run(pod)
        said = condition(await stage.get(BUDGETS, "b"), "DisruptionAllowed")
        assert (said["status"], said["reason"]) == ("False", "SyncFailed")
        assert (await counts(stage))[0] == 0
        assert "CalculateExpectedPodCountFailed" in [reason for reason, _ in await stage.told("b")]


async def test_pods_of_nobody_are_counted_by_a_number_only() -> None:
    async with staged("disruptions") as stage:
        await stage.run(await stage.pod("a"), await stage.pod("c"))
        await stage.make(BUDGETS, "b", covering(minAvailable=1))
        assert await counts(stage) == (1, 2, 1, 2)
        await stage.change(BUDGETS, "b", {"spec": {"minAvailable": "50%"}})
        assert await counts(stage) == (0, 2, 0, 0)
        assert "UnmanagedPods" in [reason for reason, _ in await stage.told("b")]


async def test_pod_that_is_on_its_way_out_does_not_count_as_healthy() -> None:
    async with staged("disruptions") as stage:
        pod = await stage.pod("a")
        await stage.bind(pod)
        await stage.run(pod)
        await stage.make(BUDGETS, "b", covering(minAvailable=0))
        assert (await counts(stage))[1] == 1
        await stage.delete(PODS, "a")
        assert (await counts(stage))[1] == 0


async def test_evictions_stop_where_the_budget_does_and_go_on_when_new_pods_serve() -> None:
    async with staged(*ALL) as stage:
        await stage.make(REPLICA_SETS, "web", replicas_of(3))
        pods = await stage.pods()
        await stage.bind(*pods)
        await stage.run(*pods)
        await stage.make(BUDGETS, "b", covering(minAvailable=2))
        assert [await evict(stage, pod) for pod in pods] == [201, 429, 429]
        assert await counts(stage) == (0, 2, 2, 4), "the one that goes is there until it is gone"
        [new] = [pod for pod in await stage.pods() if name_of(pod) not in map(name_of, pods)]
        await stage.run(new)
        assert [await evict(stage, pod) for pod in pods[1:]] == [201, 429]


async def test_evicted_pod_that_does_not_go_counts_as_gone_for_two_minutes() -> None:
    async with staged("disruptions") as stage:
        await stage.run(await stage.pod("a"), await stage.pod("c"))
        await stage.make(BUDGETS, "b", covering(minAvailable=1))
        evicted = {"a": timestamp(stage.cluster.clock.now()), "gone": timestamp(stage.cluster.clock.now())}
        await stage.change(BUDGETS, "b", {"status": {"disruptedPods": evicted}}, "status")
        assert await counts(stage) == (0, 1, 1, 2)
        assert list((await stage.get(BUDGETS, "b"))["status"]["disruptedPods"]) == ["a"]
        await stage.pass_time(119)
        assert await counts(stage) == (0, 1, 1, 2)
        await stage.pass_time(1)
        assert await counts(stage) == (1, 2, 1, 2)
        assert "disruptedPods" not in (await stage.get(BUDGETS, "b"))["status"]
        assert "NotDeleted" in [reason for reason, _ in await stage.told("a")]
