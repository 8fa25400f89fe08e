"""Controllers reach the same final state in every order of execution: each seed is another order of the callbacks that are ready.

A scenario checks only settled states, so it must hold in every order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET
from simulation.virtual_loop import VirtualLoop
from support.workload_cluster import DEPLOYMENTS, JOBS, WorkloadCluster, replicas_of, template, workload_cluster

SEEDS = 8
SETS = STATEFUL_SET.resource


class RandomOrderLoop(VirtualLoop):
    """The random loop, with the attribute by which a stage sees whether any callback is ready."""

    @property
    def _ready(self) -> list[asyncio.Handle]:
        return self._runnable

    @_ready.setter
    def _ready(self, _: object) -> None:
        """asyncio sets its own, which stays empty."""


async def images(stage: WorkloadCluster) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in await stage.pods()}


async def a_version_that_never_serves_is_replaced_in_parallel() -> None:
    async with workload_cluster("statefulsets") as stage:
        await stage.create(SETS, "web", replicas_of(2, podManagementPolicy="Parallel", serviceName="web"))
        await stage.run(*await stage.pods())
        for image in ("broken", "good"):
            await stage.change(SETS, "web", {"spec": {"template": template(image=image)}}, lists=True)
            assert await images(stage) == {"web-0": "one", "web-1": image}


async def a_deployment_rolls_and_goes_in_the_foreground() -> None:
    async with workload_cluster("replicasets", "deployments") as stage:
        await stage.create(DEPLOYMENTS, "web", replicas_of(3))
        await stage.run(*await stage.pods())
        await stage.change(DEPLOYMENTS, "web", {"spec": {"template": template(image="two")}}, lists=True)
        for _ in range(6):
            await stage.run(*await stage.pods())
        assert sorted((await images(stage)).values()) == ["two"] * 3
        await stage.delete(DEPLOYMENTS, "web", "Foreground")
        assert (await stage.pods(), await stage.all(DEPLOYMENTS)) == ([], [])


async def a_job_counts_each_pod_once() -> None:
    async with workload_cluster("jobs") as stage:
        await stage.create(JOBS, "work", {"completions": 3, "parallelism": 2, "template": template(restartPolicy="Never")})
        for _ in range(3):
            await stage.finish(*[pod for pod in await stage.pods() if pod["status"]["phase"] == "Pending"])
        status: Any = (await stage.get(JOBS, "work"))["status"]
        assert (status["succeeded"], status.get("failed", 0), len(await stage.all(PODS))) == (3, 0, 3)


@pytest.mark.parametrize(
    "scenario",
    [
        a_version_that_never_serves_is_replaced_in_parallel,
        a_deployment_rolls_and_goes_in_the_foreground,
        a_job_counts_each_pod_once,
    ],
)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_order_reaches_the_same_state(seed: int, scenario: Callable[[], Awaitable[None]]) -> None:
    loop = RandomOrderLoop(seed)

    async def play() -> None:
        await scenario()

    try:
        loop.play(play())
    finally:
        loop.wind_up()
