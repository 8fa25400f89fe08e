"""The controllers and simulated nodes keep no memory for nodes, pods, claims and Jobs that were created and deleted."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from probate.client.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from probate.controllers import registry
from probate.controllers.runtime import event_recorder
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import DEPLOYMENTS, JOBS, WorkloadCluster, replicas_of, template, workload_cluster

CONTROLLER_FILES = [tracemalloc.Filter(inclusive=True, filename_pattern="*/probate/controllers/*")]
REMEMBERED_EVENTS = 3
"""The number of events that are remembered. The real limit is tested with the event recorder."""


async def run_round(cluster: WorkloadCluster, number: int) -> None:
    name = f"n{number}"
    await cluster.client.create(NODES, "", {"metadata": {"name": name, "labels": {"probate.dev/simulated": "true"}}})
    await cluster.create(DEPLOYMENTS, name, replicas_of(4))
    unschedulable = {"containers": [{"name": "c", "image": "one"}], "nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
    await cluster.create(PODS, f"{name}-picky", unschedulable)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await cluster.create(PERSISTENT_VOLUME_CLAIMS, name, claim)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    await cluster.create(PODS, name, {"containers": [{"name": "c", "image": "one"}], "volumes": volumes})
    job = {"ttlSecondsAfterFinished": 5, "template": template(restartPolicy="Never")}
    await cluster.create(JOBS, name, job)
    await cluster.pass_time(5)
    taint = [{"key": "bad", "effect": "NoExecute"}]
    await cluster.client.patch(NODES, "", name, change={"spec": {"taints": taint}})
    await cluster.client.delete(NODES, "", name)
    await cluster.pass_time(60)
    await cluster.delete(DEPLOYMENTS, name, "Foreground")
    for pod in (name, f"{name}-picky"):
        await cluster.delete(PODS, pod)
    await cluster.delete(PERSISTENT_VOLUME_CLAIMS, name)
    await cluster.pass_time(30)


def held_bytes() -> int:
    """Returns the bytes that the controllers hold."""
    gc.collect()
    return sum(statistic.size for statistic in tracemalloc.take_snapshot().filter_traces(CONTROLLER_FILES).statistics("filename"))


@pytest.mark.long
async def test_churn_leaks_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "MAX_KNOWN", REMEMBERED_EVENTS)
    tracemalloc.start()
    try:
        async with workload_cluster(*registry.API_CONTROLLERS, nodes=2) as cluster:
            for number in range(5):
                await run_round(cluster, number)
            before = held_bytes()
            for number in range(5, 21):
                await run_round(cluster, number)
            growth = held_bytes() - before
            assert [*await cluster.pods(), *await cluster.all(JOBS), *await cluster.all(PERSISTENT_VOLUME_CLAIMS)] == []
            assert (await cluster.client.list(PERSISTENT_VOLUMES)).items == []
    finally:
        tracemalloc.stop()
    # One leaked object per round would be 8,000 bytes or more.
    assert growth < 2_000, f"16 rounds left {growth} bytes behind"
