"""The controllers keep no memory for owners that were created and deleted."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest

from probate.controllers.runtime import event_recorder
from probate.controllers.workloads.disruption.controller import POD_DISRUPTION_BUDGET
from probate.controllers.workloads.endpoints.endpoint_slices import SERVICE, SLICES
from probate.controllers.workloads.owner_kinds import CRON_JOB, DAEMON_SET, PODS, REVISIONS, STATEFUL_SET
from probate.controllers.workloads.statefulsets.volume_claims import CLAIMS
from support.workload_cluster import (
    DEPLOYMENTS,
    JOBS,
    NODES,
    REPLICA_SETS,
    WorkloadCluster,
    name_of,
    replicas_of,
    template,
    workload_cluster,
)

CONTROLLER_FILES = [tracemalloc.Filter(inclusive=True, filename_pattern="*/probate/controllers/*")]
REMEMBERED_EVENTS = 3
"""The number of events that are remembered. The real limit is tested with the event recorder."""


Round = Callable[[WorkloadCluster, int], Awaitable[None]]


async def run_round(cluster: WorkloadCluster, number: int) -> None:
    name = f"n{number}"
    await cluster.create(DEPLOYMENTS, name, replicas_of(3))
    await cluster.change(DEPLOYMENTS, name, {"spec": {"template": template(image="two")}}, lists=True)
    await cluster.delete(DEPLOYMENTS, name, "Foreground")
    await cluster.create(JOBS, name, {"completions": 2, "parallelism": 2, "template": template(restartPolicy="Never")})
    good, bad = await cluster.pods()
    await cluster.finish(good)
    await cluster.finish(bad, phase="Failed")
    await cluster.delete(JOBS, name, "Background")
    await cluster.create(JOBS, f"{name}-again", {"template": template(restartPolicy="Never")})
    await cluster.delete(PODS, name_of((await cluster.pods())[0]))
    await cluster.delete(JOBS, f"{name}-again", "Foreground")


async def run_named_round(cluster: WorkloadCluster, number: int) -> None:
    """Runs the workloads whose dependents have names, nodes or times of their own."""
    name = f"n{number}"
    claim_template = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    retention = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    spec = {
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [claim_template],
        "persistentVolumeClaimRetentionPolicy": retention,
    }
    await cluster.create(SERVICE.resource, name, {"selector": {"app": "web"}, "ports": [{"port": 80}]})
    await cluster.create(POD_DISRUPTION_BUDGET.resource, name, {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}})
    await cluster.create(STATEFUL_SET.resource, name, replicas_of(2, **spec))
    await cluster.run(*await cluster.pods())
    await cluster.change(STATEFUL_SET.resource, name, {"spec": {"replicas": 1, "template": template(image="two")}}, lists=True)
    await cluster.delete(STATEFUL_SET.resource, name, "Foreground")
    await cluster.client.create(NODES, "", {"metadata": {"name": name}})
    daemon_template = template(tolerations=[{"operator": "Exists"}])
    await cluster.create(DAEMON_SET.resource, name, {"selector": {"matchLabels": {"app": "web"}}, "template": daemon_template})
    await cluster.finish(*await cluster.pods(), phase="Failed")
    await cluster.delete(DAEMON_SET.resource, name, "Foreground")
    await cluster.client.delete(NODES, "", name)
    job = {"spec": {"template": template(restartPolicy="Never")}}
    await cluster.create(CRON_JOB.resource, name, {"schedule": "* * * * *", "jobTemplate": job})
    await cluster.pass_time(60)
    await cluster.delete(CRON_JOB.resource, name, "Foreground")
    for kind in (SERVICE.resource, POD_DISRUPTION_BUDGET.resource):
        await cluster.delete(kind, name)


def held_bytes() -> int:
    """Returns the bytes that the controllers hold."""
    gc.collect()
    return sum(statistic.size for statistic in tracemalloc.take_snapshot().filter_traces(CONTROLLER_FILES).statistics("filename"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("run_round", "names"),
    [
        (run_round, "replicasets deployments jobs"),
        (run_named_round, "statefulsets daemonsets jobs cronjobs endpointslices endpoints disruptions claimprotection"),
    ],
)
async def test_churn_leaks_no_memory(monkeypatch: pytest.MonkeyPatch, run_round: Round, names: str) -> None:
    monkeypatch.setattr(event_recorder, "MAX_KNOWN", REMEMBERED_EVENTS)
    tracemalloc.start()
    try:
        async with workload_cluster(*names.split()) as cluster:
            sizes = []
            for number in range(30):
                await run_round(cluster, number)
                if number >= 6 and number % 3 == 2:
                    sizes.append(held_bytes())
            remaining = [
                name_of(object_)
                for kind in (PODS, REPLICA_SETS, REVISIONS, CLAIMS, SLICES, JOBS)
                for object_ in await cluster.all(kind)
            ]
            assert remaining == []
    finally:
        tracemalloc.stop()
    # Objects that controllers created and the server kept still count as theirs: about a thousand bytes at any moment, and the
    # times of jobs, two short strings a round, which the server caches for a while.
    growth = min(sizes[4:]) - min(sizes[:4])
    assert growth < 2_400, f"12 rounds left {growth} bytes behind"  # one leaked object per round would be more
