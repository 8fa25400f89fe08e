"""Owners that come and go leave nothing behind in the controllers."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from probate import controllers
from probate.control import events
from probate.workloads.owners import PODS
from stage import DEPLOYMENTS, JOBS, REPLICA_SETS, Stage, name_of, replicas_of, staged, template

OURS = [tracemalloc.Filter(inclusive=True, filename_pattern=f"*/probate/{folder}/*") for folder in ("control", "workloads")]
FEW = 3
"""Events that are remembered: the limit itself is tested with the events."""


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


def held() -> int:
    """Bytes that the controllers hold."""
    gc.collect()
    return sum(one.size for one in tracemalloc.take_snapshot().filter_traces(OURS).statistics("filename"))


async def test_churn_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "REMEMBERED", FEW)
    tracemalloc.start()
    try:
        async with staged(*controllers.THROUGH_THE_API) as stage:
            for number in range(5):
                await live_and_die(stage, number)
            before = held()
            for number in range(5, 25):
                await live_and_die(stage, number)
            grown = held() - before
            assert [*await stage.pods(), *await stage.all(REPLICA_SETS)] == []
    finally:
        tracemalloc.stop()
    assert grown < 2_000, f"20 rounds left {grown} bytes behind"
