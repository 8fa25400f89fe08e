"""PodDisruptionBudgets: how many pods may be evicted, and evictions that respect them."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.controllers.workloads.disruption.controller import POD_DISRUPTION_BUDGET
from probate.controllers.workloads.owner_kinds import DAEMON_SET, DEPLOYMENT, PODS, REPLICA_SET, STATEFUL_SET
from support.workload_cluster import (
    DEPLOYMENTS,
    LABELS,
    NAMESPACE,
    REPLICA_SETS,
    WorkloadCluster,
    condition,
    name_of,
    replicas_of,
    workload_cluster,
)

BUDGETS = POD_DISRUPTION_BUDGET.resource
CONTROLLERS = ("replicasets", "deployments", "disruptions")


def budget_spec(**spec: Any) -> Object:
    return {"selector": {"matchLabels": LABELS}, **spec}


async def counts(cluster: WorkloadCluster) -> tuple[int, int, int, int]:
    """Returns disruptionsAllowed, currentHealthy, desiredHealthy and expectedPods."""
    status = (await cluster.get(BUDGETS, "b"))["status"]
    return status["disruptionsAllowed"], status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]


async def evict(cluster: WorkloadCluster, pod: Object) -> int:
    body = {"metadata": {"name": name_of(pod)}}
    response = await cluster.server.request("POST", f"{PODS.path(NAMESPACE, name_of(pod))}/eviction", body)
    await cluster.settle()
    return response.code


@pytest.mark.parametrize(
    ("spec", "expected"),
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
async def test_budget_of_four_pods_with_three_ready(spec: Object, expected: tuple[int, int, int, int]) -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(REPLICA_SETS, "web", replicas_of(4))
        first, second, third, _ = await cluster.pods()
        await cluster.create(BUDGETS, "b", budget_spec(**spec))
        await cluster.run(first, second, third)
        assert await counts(cluster) == expected
        budget = await cluster.get(BUDGETS, "b")
        allowed_condition = condition(budget, "DisruptionAllowed")
        assert (allowed_condition["status"], allowed_condition["reason"]) == (
            ("True", "SufficientPods") if expected[0] else ("False", "InsufficientPods")
        )
        assert budget["status"]["observedGeneration"] == allowed_condition["observedGeneration"] == budget["metadata"]["generation"]


async def test_expected_pods_come_from_the_deployment_not_from_its_replica_set() -> None:
    async with workload_cluster("disruptions") as cluster:
        deployment = await cluster.create(DEPLOYMENTS, "web", replicas_of(5))
        replica_set = await cluster.create(
            REPLICA_SETS, "web-1", replicas_of(2), ownerReferences=[DEPLOYMENT.reference(deployment)]
        )
        pod = await cluster.pod("a", ownerReferences=[REPLICA_SET.reference(replica_set)])
        await cluster.run(pod)
        await cluster.create(BUDGETS, "b", budget_spec(maxUnavailable=1))
        assert await counts(cluster) == (0, 1, 4, 5)
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
        assert await counts(cluster) == (1, 1, 0, 1)


async def test_expected_pods_come_from_the_stateful_set() -> None:
    async with workload_cluster("disruptions", "statefulsets") as cluster:
        await cluster.create(STATEFUL_SET.resource, "web", replicas_of(3))
        await cluster.create(BUDGETS, "b", budget_spec(maxUnavailable=1))
        assert await counts(cluster) == (0, 0, 2, 3)


async def test_budget_without_pods_allows_no_disruption() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(BUDGETS, "b", budget_spec(minAvailable=0))
        assert await counts(cluster) == (0, 0, 0, 0)
        assert ("NoPods", "No matching pods found") in await cluster.event_messages("b")


async def test_budget_with_unknown_scale_allows_no_disruption_and_reports_why() -> None:
    async with workload_cluster("disruptions") as cluster:
        template = replicas_of(0)["template"]
        owner = await cluster.create(DAEMON_SET.resource, "d", {"selector": {"matchLabels": LABELS}, "template": template})
        pod = await cluster.pod("a", ownerReferences=[DAEMON_SET.reference(owner)])
        await cluster.create(BUDGETS, "b", budget_spec(maxUnavailable=1))
        await cluster.run(pod)
        allowed_condition = condition(await cluster.get(BUDGETS, "b"), "DisruptionAllowed")
        assert (allowed_condition["status"], allowed_condition["reason"]) == ("False", "SyncFailed")
        assert (await counts(cluster))[0] == 0
        assert "CalculateExpectedPodCountFailed" in [reason for reason, _ in await cluster.event_messages("b")]


async def test_unmanaged_pods_count_only_for_absolute_numbers() -> None:
    async with workload_cluster("disruptions") as cluster:
        await cluster.run(await cluster.pod("a"), await cluster.pod("c"))
        await cluster.create(BUDGETS, "b", budget_spec(minAvailable=1))
        assert await counts(cluster) == (1, 2, 1, 2)
        await cluster.change(BUDGETS, "b", {"spec": {"minAvailable": "50%"}})
        assert await counts(cluster) == (0, 2, 0, 0)
        assert "UnmanagedPods" in [reason for reason, _ in await cluster.event_messages("b")]


async def test_pod_that_is_being_deleted_is_not_healthy() -> None:
    async with workload_cluster("disruptions") as cluster:
        pod = await cluster.pod("a")
        await cluster.bind(pod)
        await cluster.run(pod)
        await cluster.create(BUDGETS, "b", budget_spec(minAvailable=0))
        assert (await counts(cluster))[1] == 1
        await cluster.delete(PODS, "a")
        assert (await counts(cluster))[1] == 0


async def test_evictions_stop_at_the_budget_and_continue_when_new_pods_are_ready() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(REPLICA_SETS, "web", replicas_of(3))
        pods = await cluster.pods()
        await cluster.bind(*pods)
        await cluster.run(*pods)
        await cluster.create(BUDGETS, "b", budget_spec(minAvailable=2))
        assert [await evict(cluster, pod) for pod in pods] == [201, 429, 429]
        assert await counts(cluster) == (0, 2, 2, 4), "the evicted pod counts until it is gone"
        [replacement] = [pod for pod in await cluster.pods() if name_of(pod) not in map(name_of, pods)]
        await cluster.run(replacement)
        assert [await evict(cluster, pod) for pod in pods[1:]] == [201, 429]


async def test_evicted_pod_that_is_not_deleted_counts_as_gone_for_two_minutes() -> None:
    async with workload_cluster("disruptions") as cluster:
        await cluster.run(await cluster.pod("a"), await cluster.pod("c"))
        await cluster.create(BUDGETS, "b", budget_spec(minAvailable=1))
        evicted = {"a": format_time(cluster.server.clock.now()), "gone": format_time(cluster.server.clock.now())}
        await cluster.change(BUDGETS, "b", {"status": {"disruptedPods": evicted}}, part="status")
        assert await counts(cluster) == (0, 1, 1, 2)
        assert list((await cluster.get(BUDGETS, "b"))["status"]["disruptedPods"]) == ["a"]
        await cluster.pass_time(119)
        assert await counts(cluster) == (0, 1, 1, 2)
        await cluster.pass_time(1)
        assert await counts(cluster) == (1, 2, 1, 2)
        assert "disruptedPods" not in (await cluster.get(BUDGETS, "b"))["status"]
        assert "NotDeleted" in [reason for reason, _ in await cluster.event_messages("a")]
