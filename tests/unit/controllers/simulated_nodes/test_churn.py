"""Nodes, pods, claims and Jobs that come and go leave nothing behind in those who look after them."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from probate.client.resources import CLAIMS, NODES, VOLUMES
from probate.controllers import manager
from probate.controllers.runtime import event_recorder
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import DEPLOYMENTS, JOBS, Stage, replicas_of, staged, template

ROOMS = ("control", "lifecycle", "scheduling", "simulation")
OURS = [tracemalloc.Filter(inclusive=True, filename_pattern=f"*/probate/{room}/*") for room in ROOMS]
FEW = 3
"""Events that are remembered: the limit itself is tested with the events."""


async def live_and_die(stage: Stage, number: int) -> None:
    name = f"n{number}"
    await stage.client.create(NODES, "", {"metadata": {"name": name, "labels": {"probate.dev/simulated": "true"}}})
    await stage.make(DEPLOYMENTS, name, replicas_of(4))
    picky = {"containers": [{"name": "c", "image": "one"}], "nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
    await stage.make(PODS, f"{name}-picky", picky)
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await stage.make(CLAIMS, name, asked)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    await stage.make(PODS, name, {"containers": [{"name": "c", "image": "one"}], "volumes": volumes})
    short = {"ttlSecondsAfterFinished": 5, "template": template(restartPolicy="Never")}
    await stage.make(JOBS, name, short)
    await stage.pass_time(5)
    bad = [{"key": "bad", "effect": "NoExecute"}]
    await stage.client.patch(NODES, "", name, {"spec": {"taints": bad}})
    await stage.client.delete(NODES, "", name)
    await stage.pass_time(60)
    await stage.delete(DEPLOYMENTS, name, "Foreground")
    for pod in (name, f"{name}-picky"):
        await stage.delete(PODS, pod)
    await stage.delete(CLAIMS, name)
    await stage.pass_time(30)


def held() -> int:
    """Bytes that they hold."""
    gc.collect()
    return sum(one.size for one in tracemalloc.take_snapshot().filter_traces(OURS).statistics("filename"))


@pytest.mark.long
async def test_churn_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "REMEMBERED", FEW)
    tracemalloc.start()
    try:
        async with staged(*manager.THROUGH_THE_API, nodes=2) as stage:
            for number in range(5):
                await live_and_die(stage, number)
            before = held()
            for number in range(5, 21):
                await live_and_die(stage, number)
            grown = held() - before
            assert [*await stage.pods(), *await stage.all(JOBS), *await stage.all(CLAIMS)] == []
            assert (await stage.client.list(VOLUMES)).items == []
    finally:
        tracemalloc.stop()
    # One object that is kept for each round is 8,000 or more.
    assert grown < 2_000, f"16 rounds left {grown} bytes behind"
