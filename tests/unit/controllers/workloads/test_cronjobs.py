"""CronJobs: one Job for each scheduled time, concurrency policies, and the history; CJ-1 to CJ-12."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.objects import GroupVersionResource
from probate.controllers.workloads.cronjobs import job_history, schedule
from probate.controllers.workloads.owner_kinds import CRON_JOB
from probate.core import errors
from probate.lib.cron import parse
from support.workload_cluster import JOBS, WorkloadCluster, name_of, owners_of, template, workload_cluster

CRON_JOBS = CRON_JOB.resource
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
MINUTE = 60.0
EARLY = 1_700_000_040 - 1_700_000_000  # seconds until the first full minute


def cron(times: str = "* * * * *", **spec: Any) -> Object:
    pod = template({"job": "yes"}, restartPolicy="Never")
    job = {"metadata": {"labels": {"from": "template"}, "annotations": {"note": "x"}}, "spec": {"template": pod, "backoffLimit": 0}}
    return {"schedule": times, "jobTemplate": job, **spec}


async def names(cluster: WorkloadCluster) -> list[str]:
    return [name_of(job) for job in await cluster.all(JOBS)]


async def finish(cluster: WorkloadCluster, phase: str = "Succeeded") -> None:
    """Finishes all pods."""
    await cluster.finish(*await cluster.pods(), phase=phase)


async def status(cluster: WorkloadCluster) -> Object:
    result: Object = (await cluster.get(CRON_JOBS, "tick")).get("status") or {}
    return result


async def reasons(cluster: WorkloadCluster) -> list[str]:
    return sorted({reason for reason, _ in await cluster.event_messages("tick")})


def finished_conditions(*types: str) -> list[Object]:
    time = format_time(1_700_000_000)
    return [{"type": type_, "status": "True", "lastTransitionTime": time, "lastProbeTime": time} for type_ in types]


def job_at(moment: float) -> str:
    return f"tick-{int(moment) // 60}"


async def test_cj_11_job_of_each_minute_has_its_name_and_owner() -> None:
    async with workload_cluster("cronjobs") as cluster:
        owner = await cluster.create(CRON_JOBS, "tick", cron())
        assert await names(cluster) == [], "the job was created too early"
        await cluster.pass_time(EARLY - 0.01)
        assert await names(cluster) == []
        await cluster.pass_time(0.02)
        [job] = await cluster.all(JOBS)
        assert name_of(job) == job_at(1_700_000_040)
        assert job["metadata"]["labels"]["from"] == "template"
        assert job["metadata"]["annotations"] == {
            "note": "x",
            "batch.kubernetes.io/cronjob-scheduled-timestamp": format_time(1_700_000_040),
        }
        [reference] = job["metadata"]["ownerReferences"]
        assert (reference["apiVersion"], reference["kind"], reference["uid"]) == ("batch/v1", "CronJob", owner["metadata"]["uid"])
        assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
        cron_job_status = await status(cluster)
        assert cron_job_status["lastScheduleTime"] == format_time(1_700_000_040)
        assert [(active_job["kind"], active_job["name"], active_job["uid"]) for active_job in cron_job_status["active"]] == [
            ("Job", name_of(job), job["metadata"]["uid"])
        ]
        assert await cluster.event_messages("tick") == [("SuccessfulCreate", f"Created job {name_of(job)}")]


async def test_schedule_is_evaluated_in_its_time_zone() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron("30 7 * * *", timeZone="Asia/Tokyo"))
        start = datetime.fromtimestamp(cluster.server.clock.now(), UTC)
        assert (start.hour, start.minute) == (22, 13)
        await cluster.pass_time(17 * MINUTE)
        [job] = await cluster.all(JOBS)
        scheduled_time = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert scheduled_time == "2023-11-15T07:30:00+09:00"


@pytest.mark.parametrize(("word", "seconds"), [("@hourly", 46 * MINUTE + 40), ("@every 90s", 90)])
async def test_macros_are_schedules(word: str, seconds: float) -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(word))
        await cluster.pass_time(10)
        await cluster.change(CRON_JOBS, "tick", {"metadata": {"annotations": {"look": "again"}}})
        await cluster.pass_time(seconds - 11)
        assert await names(cluster) == []
        await cluster.pass_time(1)
        assert len(await names(cluster)) == 1
        await cluster.pass_time(3600 if word == "@hourly" else 90)
        assert len(await names(cluster)) == 2


async def test_distant_scheduled_time_is_met_exactly() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron("0 0 16 * *"))
        remaining = datetime(2023, 11, 16, tzinfo=UTC).timestamp() - cluster.server.clock.now()
        await cluster.pass_time(remaining - 1)
        assert await names(cluster) == []
        await cluster.pass_time(1)
        assert len(await names(cluster)) == 1


@pytest.mark.parametrize("text", ["* * * * *", "0,1,2 * * * *", "*/7 3 * * MON", "59 23 31 12 *", "@every 7m"])
@pytest.mark.parametrize("missed", [0, 1, 30, 5000])
def test_latest_missed_time_is_found(text: str, missed: int) -> None:
    times = parse(text)
    now = datetime(2024, 1, 2, 3, 30, 20, tzinfo=UTC)
    after = now - timedelta(minutes=missed)
    last, moment = None, times.next_after(after)
    while moment is not None and moment <= now:
        last, moment = moment, times.next_after(moment)
    assert schedule.latest_time(times, after, now) == last


def test_cj_5_jobs_are_deleted_by_start_time_and_unstarted_ones_last() -> None:
    failed = {"conditions": [{"type": "Failed", "status": "True"}]}
    jobs: list[Object] = [
        {"metadata": {"name": "a"}, "status": failed},
        {"metadata": {"name": "c"}, "status": {**failed, "startTime": format_time(1)}},
        {"metadata": {"name": "b"}, "status": {**failed, "startTime": format_time(2)}},
        {"metadata": {"name": "d"}, "status": {"startTime": format_time(0)}},
    ]
    for limit, deleted in ((1, ["c", "b"]), (2, ["c"]), (0, ["c", "b", "a"])):
        assert [name_of(job) for job in job_history.jobs_to_delete({"spec": {"failedJobsHistoryLimit": limit}}, jobs)] == deleted


async def test_suspended_cronjob_creates_no_job_and_catches_up_once_when_resumed() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(suspend=True))
        await cluster.pass_time(EARLY + 4.5 * MINUTE)
        assert await names(cluster) == []
        await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert await names(cluster) == [job_at(1_700_000_040 + 4 * MINUTE)]


async def test_missed_times_beyond_the_deadline_are_skipped() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron("*/10 * * * *", suspend=True, startingDeadlineSeconds=30))
        await cluster.pass_time(400 + 31)  # 22:20 is 400 s away
        await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert await names(cluster) == []
        await cluster.pass_time(600 - 31)
        assert await names(cluster) == [job_at(1_700_000_400 + 600)]


async def test_many_missed_times_record_an_event() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(suspend=True))
        await cluster.pass_time(EARLY + 100.5 * MINUTE)
        await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert len(await names(cluster)) == 1
        assert "TooManyMissedTimes" not in await reasons(cluster)
        await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": True}})
        await cluster.pass_time(102 * MINUTE)
        await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert "TooManyMissedTimes" in await reasons(cluster)


async def test_allow_lets_jobs_overlap() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await cluster.pass_time(EARLY + MINUTE)
        assert len((await status(cluster))["active"]) == 2


async def test_forbid_waits_for_the_active_job_and_starts_late() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(concurrencyPolicy="Forbid"))
        await cluster.pass_time(EARLY + 2 * MINUTE + 10)
        assert await names(cluster) == [job_at(1_700_000_040)]
        assert "JobAlreadyActive" in await reasons(cluster)
        await finish(cluster)
        assert await names(cluster) == [job_at(1_700_000_040), job_at(1_700_000_040 + 2 * MINUTE)]


async def test_cj_8_replace_deletes_the_active_job() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(concurrencyPolicy="Replace"))
        await cluster.pass_time(EARLY + MINUTE)
        assert await names(cluster) == [job_at(1_700_000_040 + MINUTE)]
        assert [active_job["name"] for active_job in (await status(cluster))["active"]] == [job_at(1_700_000_040 + MINUTE)]


async def run_minutes(cluster: WorkloadCluster, *phases: str) -> None:
    """Passes a minute for each phase, and finishes its Job in that phase."""
    for phase in phases:
        await cluster.pass_time(MINUTE)
        await finish(cluster, phase)


@pytest.mark.parametrize(("successful", "failed"), [(3, 1), (1, 2), (0, 0)])
async def test_cj_1_history_limits_apply_per_outcome(successful: int, failed: int) -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(successfulJobsHistoryLimit=successful, failedJobsHistoryLimit=failed))
        await run_minutes(cluster, *["Succeeded"] * 4, *["Failed"] * 3)
        first = 1_700_000_040
        expected = [job_at(first + MINUTE * number) for number in [*range(4 - successful, 4), *range(7 - failed, 7)]]
        assert await names(cluster) == expected, "CJ-5: the last started ones stay"
        assert (await status(cluster)).get("active") is None


async def test_cj_1_default_limits() -> None:
    async with workload_cluster("cronjobs") as cluster:
        created = await cluster.create(CRON_JOBS, "tick", cron())
        assert (created["spec"]["successfulJobsHistoryLimit"], created["spec"]["failedJobsHistoryLimit"]) == (3, 1)


async def test_cj_2_history_is_limited_while_suspended_and_while_being_deleted() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(), finalizers=["test.example/hold"])
        await run_minutes(cluster, *["Succeeded"] * 3)
        await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": True, "successfulJobsHistoryLimit": 2}})
        assert len(await names(cluster)) == 2
        await cluster.delete(CRON_JOBS, "tick")
        await cluster.change(CRON_JOBS, "tick", {"spec": {"successfulJobsHistoryLimit": 1}})
        assert len(await names(cluster)) == 1


async def test_cj_3_jobs_of_an_earlier_cronjob_of_the_same_name_are_ignored() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await run_minutes(cluster, "Succeeded")
        await cluster.delete(CRON_JOBS, "tick", "Orphan")
        await cluster.create(CRON_JOBS, "tick", cron("0 0 1 1 *", successfulJobsHistoryLimit=0))
        assert len(await names(cluster)) == 1


async def test_cj_6_deletion_records_an_event_and_deletes_the_pods() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(successfulJobsHistoryLimit=0))
        await run_minutes(cluster, "Succeeded")
        assert await names(cluster) == []
        assert await cluster.pods() == []
        assert await reasons(cluster) == ["SuccessfulCreate", "SuccessfulDelete"]


async def test_cj_6_failed_deletion_records_an_event_and_does_not_block_others() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await run_minutes(cluster, *["Succeeded"] * 3)
        first, _, third = await names(cluster)
        with cluster.server.line.refuse(f"DELETE .*/jobs/{first}", errors.StoreUnavailable("not now")):
            await cluster.change(CRON_JOBS, "tick", {"spec": {"suspend": True, "successfulJobsHistoryLimit": 1}})
            assert await names(cluster) == [first, third]
            assert {"FailedDelete", "SuccessfulDelete"} <= {*await reasons(cluster)}
        await cluster.pass_time(1)
        assert await names(cluster) == [third], "the deletion is retried"


async def test_cj_8_job_that_cannot_be_deleted_is_not_replaced() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(concurrencyPolicy="Replace"))
        await cluster.pass_time(EARLY)
        [first] = await names(cluster)
        with cluster.server.line.refuse(f"DELETE .*/jobs/{first}", errors.StoreUnavailable("not now")):
            await cluster.pass_time(MINUTE)
            assert await names(cluster) == [first]
        await cluster.pass_time(10)
        assert await names(cluster) == [job_at(1_700_000_040 + MINUTE)]


@pytest.mark.parametrize(
    ("types", "finished_type"),
    [([], ""), (["Complete"], "Complete"), (["Failed", "Complete"], "Failed"), (["Suspended", "Failed"], "Failed")],
)
def test_cj_4_first_finished_condition_counts(types: list[str], finished_type: str) -> None:
    assert job_history.finished_type({"status": {"conditions": finished_conditions(*types)}}) == finished_type
    assert (
        job_history.finished_type(
            {"status": {"conditions": [{**condition, "status": "False"} for condition in finished_conditions(*types)]}}
        )
        == ""
    )


async def finish_jobs(cluster: WorkloadCluster, *jobs: str) -> None:
    for name in jobs:
        times = {"startTime": format_time(1_700_000_000), "completionTime": format_time(1_700_000_001), "succeeded": 1}
        job_status = {**times, "conditions": finished_conditions("SuccessCriteriaMet", "Complete")}
        await cluster.change(JOBS, name, {"status": job_status}, part="status")


async def test_cj_4_active_jobs_are_not_history() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0))
        await cluster.pass_time(EARLY + 2 * MINUTE)
        first, second, third = await names(cluster)
        await finish_jobs(cluster, second)
        assert await names(cluster) == [first, third]


async def test_cj_7_all_removed_jobs_are_written_in_one_update() -> None:
    async with workload_cluster() as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        async with cluster.controllers_running("cronjobs"):
            await cluster.pass_time(EARLY + 2 * MINUTE)
        assert len((await status(cluster))["active"]) == 3
        await finish_jobs(cluster, *await names(cluster))
        await cluster.change(CRON_JOBS, "tick", {"spec": {"successfulJobsHistoryLimit": 0, "suspend": True}})
        async with cluster.server.watching("/apis/batch/v1/namespaces/default/cronjobs") as events:
            with cluster.server.line.refuse("PUT .*/cronjobs/tick/status", errors.StoreUnavailable("not now")):
                async with cluster.controllers_running("cronjobs"):
                    assert await names(cluster) == []
                    assert events == []
                    cluster.server.line.stop_refusing()
                    await cluster.pass_time(1)
        assert [event["object"]["status"].get("active") for event in events] == [None]


async def test_cj_12_creation_skew_is_measured() -> None:
    async with workload_cluster() as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await cluster.pass_time(EARLY + 5)
        async with cluster.controllers_running("cronjobs"):
            metrics = (await cluster.server.request("GET", "/metrics", accept="text/plain")).body.decode()
            assert "cronjob_controller_job_creation_skew_duration_seconds_sum 5.0" in metrics


async def test_cj_9_end_of_a_job_updates_the_status() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await run_minutes(cluster, "Succeeded")
        cron_job_status = await status(cluster)
        assert "active" not in cron_job_status
        [job] = await cluster.all(JOBS)
        assert cron_job_status["lastSuccessfulTime"] == job["status"]["completionTime"]
        assert "SawCompletedJob" in await reasons(cluster)
        await run_minutes(cluster, "Failed")
        assert (await status(cluster))["lastSuccessfulTime"] == job["status"]["completionTime"]


async def test_cj_9_deleted_job_is_reported_as_missing() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await cluster.pass_time(EARLY)
        [name] = await names(cluster)
        await cluster.delete(JOBS, name, "Background")
        assert "active" not in await status(cluster)
        assert "MissingJob" in await reasons(cluster)


async def test_cj_9_unexpected_job_is_reported_and_not_active() -> None:
    async with workload_cluster("cronjobs") as cluster:
        owner = await cluster.create(CRON_JOBS, "tick", cron("0 0 1 1 *"))
        await cluster.create(JOBS, "by-hand", cron()["jobTemplate"]["spec"], ownerReferences=[CRON_JOB.reference(owner)])
        assert await reasons(cluster) == ["UnexpectedJob"]
        assert "active" not in await status(cluster)


async def test_cj_10_no_job_is_created_while_the_cronjob_is_being_deleted() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron(), finalizers=["test.example/hold"])
        await cluster.delete(CRON_JOBS, "tick")
        await cluster.pass_time(5 * MINUTE)
        assert await names(cluster) == []


async def test_existing_job_of_the_scheduled_time_is_not_created_again() -> None:
    async with workload_cluster("cronjobs") as cluster:
        owner = await cluster.create(CRON_JOBS, "tick", cron())
        await cluster.pass_time(EARLY)
        await cluster.change(CRON_JOBS, "tick", {"status": {"active": None, "lastScheduleTime": None}}, part="status")
        [job] = await cluster.all(JOBS)
        assert owners_of(job) == [owner["metadata"]["uid"]]
        cron_job_status = await status(cluster)
        assert [active_job["uid"] for active_job in cron_job_status["active"]] == [job["metadata"]["uid"]]
        assert cron_job_status["lastScheduleTime"] == format_time(1_700_000_040)


async def test_name_conflict_records_an_event_and_the_next_time_works() -> None:
    async with workload_cluster("cronjobs") as cluster:
        await cluster.create(JOBS, job_at(1_700_000_040), cron()["jobTemplate"]["spec"])
        await cluster.create(CRON_JOBS, "tick", cron())
        await cluster.pass_time(EARLY)
        assert await reasons(cluster) == ["FailedCreate"]
        await cluster.pass_time(MINUTE)
        assert job_at(1_700_000_040 + MINUTE) in await names(cluster)


async def test_foreground_deletion_deletes_jobs_and_pods() -> None:
    async with workload_cluster("cronjobs", "jobs") as cluster:
        await cluster.create(CRON_JOBS, "tick", cron())
        await cluster.pass_time(EARLY + MINUTE)
        await cluster.delete(CRON_JOBS, "tick", "Foreground")
        assert await cluster.find(CRON_JOBS, "tick") is None
        assert [*await names(cluster), *await cluster.pods()] == []
