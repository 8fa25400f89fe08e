"""Owners that come and go leave nothing behind in the controllers."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest

from probate.controllers.runtime import event_recorder
from probate.controllers.workloads.disruption.controller import BUDGET
from probate.controllers.workloads.endpoints.endpoint_slices import SERVICE, SLICES
from probate.controllers.workloads.owner_kinds import CRON_JOB, DAEMON_SET, PODS, REVISIONS, STATEFUL_SET
from probate.controllers.workloads.statefulsets.volume_claims import CLAIMS
from support.workload_cluster import DEPLOYMENTS, JOBS, NODES, REPLICA_SETS, Stage, name_of, replicas_of, staged, template

OURS = [tracemalloc.Filter(inclusive=True, filename_pattern=f"*/probate/{folder}/*") for folder in ("control", "workloads")]
FEW = 3
"""Events that are remembered: the limit itself is tested with the events."""


Live = Callable[[Stage, int], Awaitable[None]]


async def live_and_die(stage: Stage, number: int) -> None:
    name = f"n{number}"
    await stage.make(DEPLOYMENTS, name, replicas_of(3))
    await stage.change(DEPLOYMENTS, name, {"spec": {"template": template(image="two")}}, lists=True)
    await stage.delete(DEPLOYMENTS, name, "Foreground")
    await stage.make(JOBS, name, {"completions": 2, "parallelism": 2, "template": template(restartPolicy="Never")})
    good, bad = await stage.pods()
    await stage.end(good)
    await stage.end(bad, phase="Failed")
    await stage.delete(JOBS, name, "Background")
    await stage.make(JOBS, f"{name}-again", {"template": template(restartPolicy="Never")})
    await stage.delete(PODS, name_of((await stage.pods())[0]))
    await stage.delete(JOBS, f"{name}-again", "Foreground")


async def live_and_die_by_name(stage: Stage, number: int) -> None:
    """The same for those whose dependents have names, nodes and times of their own."""
    name = f"n{number}"
    disk = {"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    kept = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    spec = {"podManagementPolicy": "Parallel", "volumeClaimTemplates": [disk], "persistentVolumeClaimRetentionPolicy": kept}
    await stage.make(SERVICE.resource, name, {"selector": {"app": "web"}, "ports": [{"port": 80}]})
    await stage.make(BUDGET.resource, name, {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}})
    await stage.make(STATEFUL_SET.resource, name, replicas_of(2, **spec))
    await stage.run(*await stage.pods())
    await stage.change(STATEFUL_SET.resource, name, {"spec": {"replicas": 1, "template": template(image="two")}}, lists=True)
    await stage.delete(STATEFUL_SET.resource, name, "Foreground")
    await stage.client.create(NODES, "", {"metadata": {"name": name}})
    everywhere = template(tolerations=[{"operator": "Exists"}])
    await stage.make(DAEMON_SET.resource, name, {"selector": {"matchLabels": {"app": "web"}}, "template": everywhere})
    await stage.end(*await stage.pods(), phase="Failed")
    await stage.delete(DAEMON_SET.resource, name, "Foreground")
    await stage.client.delete(NODES, "", name)
    job = {"spec": {"template": template(restartPolicy="Never")}}
    await stage.make(CRON_JOB.resource, name, {"schedule": "* * * * *", "jobTemplate": job})
    await stage.pass_time(60)
    await stage.delete(CRON_JOB.resource, name, "Foreground")
    for kind in (SERVICE.resource, BUDGET.resource):
        await stage.delete(kind, name)


def held() -> int:
    """Bytes that the controllers hold."""
    gc.collect()
    return sum(one.size for one in tracemalloc.take_snapshot().filter_traces(OURS).statistics("filename"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("live", "names"),
    [
        (live_and_die, "replicasets deployments jobs"),
        (live_and_die_by_name, "statefulsets daemonsets jobs cronjobs endpointslices endpoints disruptions claimprotection"),
    ],
)
async def test_churn_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, live: Live, names: str) -> None:
    monkeypatch.setattr(event_recorder, "REMEMBERED", FEW)
    tracemalloc.start()
    try:
        async with staged(*names.split()) as stage:
            sizes = []
            for number in range(30):
                await live(stage, number)
                if number >= 6 and number % 3 == 2:
                    sizes.append(held())
            left = [name_of(one) for kind in (PODS, REPLICA_SETS, REVISIONS, CLAIMS, SLICES, JOBS) for one in await stage.all(kind)]
            assert left == []
    finally:
        tracemalloc.stop()
    # What the controllers gave back and the server took over still counts as theirs: a thousand bytes, more or less, at any moment,
    # and the times of jobs, two short texts a round, which the server remembers for a while.
    grown = min(sizes[4:]) - min(sizes[:4])
    assert grown < 2_400, f"12 rounds left {grown} bytes behind"  # one thing for each round would be more
