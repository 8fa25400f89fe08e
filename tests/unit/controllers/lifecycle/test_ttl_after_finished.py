"""Finished Jobs are deleted when their TTL is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.timestamps import format_time
from probate.controllers.lifecycle.ttl_after_finished import TITLE
from support.workload_cluster import JOBS, WorkloadCluster, template, workload_cluster


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(TITLE) as one:
        yield one


async def job(stage: WorkloadCluster, ttl: int | None = 5, **meta: Any) -> None:
    spec = {"template": template(restartPolicy="Never"), **({} if ttl is None else {"ttlSecondsAfterFinished": ttl})}
    await stage.create(JOBS, "work", spec, **meta)


async def finish(stage: WorkloadCluster, *, type_: str = "Complete", status: str = "True", after: float = 0) -> None:
    when = format_time(stage.server.clock.now() + after)
    done = {"SuccessCriteriaMet": "True"} if type_ == "Complete" else {"FailureTarget": "True"}
    conditions = [
        {"type": one, "status": state, "reason": "", "message": "", "lastTransitionTime": when, "lastProbeTime": when}
        for one, state in {**done, type_: status}.items()
    ]
    times = {"startTime": format_time(stage.server.clock.now())}
    if type_ == "Complete" and status == "True":
        times["completionTime"] = when if after >= 0 else times["startTime"]
    await stage.change(JOBS, "work", {"status": {"conditions": conditions, **times}}, part="status")


@pytest.mark.parametrize("type_", ["Complete", "Failed"])
async def test_ttl_1_a_finished_job_is_deleted_exactly_when_its_ttl_is_over(stage: WorkloadCluster, type_: str) -> None:
    await job(stage)
    await stage.pass_time(100)
    await finish(stage, type_=type_)
    await stage.pass_time(4.9)
    assert await stage.find(JOBS, "work") is not None
    await stage.pass_time(0.1)
    assert await stage.find(JOBS, "work") is None


async def test_ttl_1_a_job_without_a_ttl_stays(stage: WorkloadCluster) -> None:
    await job(stage, None)
    await finish(stage)
    await stage.pass_time(100_000)
    assert await stage.find(JOBS, "work") is not None


async def test_ttl_1_a_job_that_has_not_finished_stays(stage: WorkloadCluster) -> None:
    await job(stage, 0)
    await stage.pass_time(1000)
    assert await stage.find(JOBS, "work") is not None


async def test_ttl_3_a_job_without_a_finish_time_stays(stage: WorkloadCluster) -> None:
    await job(stage, 0)
    conditions = [{"type": one, "status": "True"} for one in ("FailureTarget", "Failed")]
    began = format_time(stage.server.clock.now())
    await stage.change(JOBS, "work", {"status": {"conditions": conditions, "startTime": began}}, part="status")
    await stage.pass_time(1000)
    assert await stage.find(JOBS, "work") is not None


async def test_ttl_4_a_job_that_finishes_in_the_future_waits_for_that_too(stage: WorkloadCluster) -> None:
    await job(stage)
    await finish(stage, after=60)
    await stage.pass_time(64.9)
    assert await stage.find(JOBS, "work") is not None
    await stage.pass_time(0.1)
    assert await stage.find(JOBS, "work") is None


async def test_ttl_6_the_job_is_deleted_in_the_foreground(stage: WorkloadCluster) -> None:
    await job(stage, finalizers=["example.com/hold"])
    await finish(stage)
    await stage.pass_time(5)
    meta = (await stage.get(JOBS, "work"))["metadata"]
    assert "deletionTimestamp" in meta


async def test_ttl_6_dependents_go_first(stage: WorkloadCluster) -> None:
    await job(stage)
    await finish(stage)
    owner = await stage.get(JOBS, "work")
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "work",
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    await stage.pod("a", ownerReferences=[reference], finalizers=["example.com/hold"])
    await stage.pass_time(5)
    assert (await stage.get(JOBS, "work"))["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_ttl_7_a_changed_ttl_applies(stage: WorkloadCluster) -> None:
    await job(stage, 5)
    await finish(stage)
    await stage.pass_time(4)
    await stage.change(JOBS, "work", {"spec": {"ttlSecondsAfterFinished": 100}})
    await stage.pass_time(95.9)
    assert await stage.find(JOBS, "work") is not None
    await stage.change(JOBS, "work", {"spec": {"ttlSecondsAfterFinished": 0}})
    assert await stage.find(JOBS, "work") is None


async def test_ttl_9_the_delay_is_observed(stage: WorkloadCluster) -> None:
    await job(stage)
    await finish(stage)
    await stage.pass_time(5)
    shown = (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()
    assert "ttl_after_finished_controller_job_deletion_duration_seconds_count 1.0" in shown


async def test_ttl_2_jobs_that_finished_before_the_start_are_deleted_too() -> None:
    async with workload_cluster() as stage:
        await job(stage)
        await finish(stage)
        await stage.pass_time(3)
        async with stage.controllers_running(TITLE):
            assert await stage.find(JOBS, "work") is not None
            await stage.pass_time(2)
            assert await stage.find(JOBS, "work") is None


async def test_ttl_2_a_job_that_is_being_deleted_is_not_deleted_again(stage: WorkloadCluster) -> None:
    await job(stage, finalizers=["example.com/hold"])
    await finish(stage)
    await stage.delete(JOBS, "work", "Background")
    await stage.pass_time(100)
    assert not [one for one in stage.server.line.requests if one.startswith("DELETE")]


async def test_ttl_5_the_job_is_read_from_the_server_before_it_is_deleted(stage: WorkloadCluster) -> None:
    await job(stage)
    await finish(stage)
    with stage.server.line.hold_events("jobs"):
        await stage.change(JOBS, "work", {"spec": {"ttlSecondsAfterFinished": 50}})
        await stage.pass_time(49)
        assert await stage.find(JOBS, "work") is not None
        await stage.pass_time(1)
        assert await stage.find(JOBS, "work") is None


async def test_ttl_5_a_job_that_is_gone_by_then_is_ignored(stage: WorkloadCluster) -> None:
    await job(stage)
    await finish(stage)
    with stage.server.line.hold_events("jobs"):
        await stage.delete(JOBS, "work", "Background")
        await stage.pass_time(100)
    assert not [one for one in stage.server.line.requests if one.startswith("DELETE")]


async def test_ttl_8_no_events_are_written(stage: WorkloadCluster) -> None:
    await job(stage)
    await finish(stage)
    await stage.pass_time(5)
    assert await stage.event_messages() == []
