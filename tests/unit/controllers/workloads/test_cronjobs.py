"""CronJobs: a Job at each time, one at a time or not, and how many are kept; CJ-1 to CJ-12."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from probate.api.timestamps import timestamp
from probate.client.objects import Kind
from probate.controllers.workloads.cronjobs import job_history, schedule
from probate.controllers.workloads.owner_kinds import CRON_JOB
from probate.core import errors
from probate.lib.cron import parse
from support.workload_cluster import JOBS, Object, Stage, name_of, owners_of, staged, template

CRON_JOBS = CRON_JOB.resource
NAMESPACES = Kind("", "v1", "namespaces")
MINUTE = 60.0
EARLY = 1_700_000_040 - 1_700_000_000  # seconds until the first full minute


def cron(times: str = "* * * * *", **spec: Any) -> Object:
    pod = template({"job": "yes"}, restartPolicy="Never")
    job = {"metadata": {"labels": {"from": "template"}, "annotations": {"note": "x"}}, "spec": {"template": pod, "backoffLimit": 0}}
    return {"schedule": times, "jobTemplate": job, **spec}


async def names(stage: Stage) -> list[str]:
    return [name_of(job) for job in await stage.all(JOBS)]


async def finish(stage: Stage, phase: str = "Succeeded") -> None:
    """All pods end."""
    await stage.end(*await stage.pods(), phase=phase)


async def status(stage: Stage) -> Object:
    found: Object = (await stage.get(CRON_JOBS, "tick")).get("status") or {}
    return found


async def reasons(stage: Stage) -> list[str]:
    return sorted({reason for reason, _ in await stage.told("tick")})


def done(*types: str) -> list[Object]:
    when = timestamp(1_700_000_000)
    return [{"type": one, "status": "True", "lastTransitionTime": when, "lastProbeTime": when} for one in types]


def job_at(moment: float) -> str:
    return f"tick-{int(moment) // 60}"


async def test_cj_11_job_of_each_minute_has_its_name_and_owner() -> None:
    async with staged("cronjobs") as stage:
        owner = await stage.make(CRON_JOBS, "tick", cron())
        assert await names(stage) == [], "not before its time"
        await stage.pass_time(EARLY - 0.01)
        assert await names(stage) == []
        await stage.pass_time(0.02)
        [job] = await stage.all(JOBS)
        assert name_of(job) == job_at(1_700_000_040)
        assert job["metadata"]["labels"]["from"] == "template"
        assert job["metadata"]["annotations"] == {
            "note": "x",
            "batch.kubernetes.io/cronjob-scheduled-timestamp": timestamp(1_700_000_040),
        }
        [reference] = job["metadata"]["ownerReferences"]
        assert (reference["apiVersion"], reference["kind"], reference["uid"]) == ("batch/v1", "CronJob", owner["metadata"]["uid"])
        assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
        found = await status(stage)
        assert found["lastScheduleTime"] == timestamp(1_700_000_040)
        assert [(one["kind"], one["name"], one["uid"]) for one in found["active"]] == [
            ("Job", name_of(job), job["metadata"]["uid"])
        ]
        assert await stage.told("tick") == [("SuccessfulCreate", f"Created job {name_of(job)}")]


async def test_schedule_is_read_in_its_time_zone() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron("30 7 * * *", timeZone="Asia/Tokyo"))
        start = datetime.fromtimestamp(stage.cluster.clock.now(), UTC)
        assert (start.hour, start.minute) == (22, 13)
        await stage.pass_time(17 * MINUTE)
        [job] = await stage.all(JOBS)
        when = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert when == "2023-11-15T07:30:00+09:00"


@pytest.mark.parametrize(("word", "seconds"), [("@hourly", 46 * MINUTE + 40), ("@every 90s", 90)])
async def test_words_are_schedules(word: str, seconds: float) -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(word))
        await stage.pass_time(10)
        await stage.change(CRON_JOBS, "tick", {"metadata": {"annotations": {"look": "again"}}})
        await stage.pass_time(seconds - 11)
        assert await names(stage) == []
        await stage.pass_time(1)
        assert len(await names(stage)) == 1
        await stage.pass_time(3600 if word == "@hourly" else 90)
        assert len(await names(stage)) == 2


async def test_time_far_away_is_met_exactly() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron("0 0 16 * *"))
        left = datetime(2023, 11, 16, tzinfo=UTC).timestamp() - stage.cluster.clock.now()
        await stage.pass_time(left - 1)
        assert await names(stage) == []
        await stage.pass_time(1)
        assert len(await names(stage)) == 1


@pytest.mark.parametrize("text", ["* * * * *", "0,1,2 * * * *", "*/7 3 * * MON", "59 23 31 12 *", "@every 7m"])
@pytest.mark.parametrize("missed", [0, 1, 30, 5000])
def test_last_of_the_missed_times_is_found(text: str, missed: int) -> None:
    times = parse(text)
    now = datetime(2024, 1, 2, 3, 30, 20, tzinfo=UTC)
    after = now - timedelta(minutes=missed)
    found, moment = None, times.next_after(after)
    while moment is not None and moment <= now:
        found, moment = moment, times.next_after(moment)
    assert schedule.latest(times, after, now) == found


def test_cj_5_those_that_began_first_go_first_and_those_that_never_began_last() -> None:
    over = {"conditions": [{"type": "Failed", "status": "True"}]}
    jobs: list[Object] = [
        {"metadata": {"name": "a"}, "status": over},
        {"metadata": {"name": "c"}, "status": {**over, "startTime": timestamp(1)}},
        {"metadata": {"name": "b"}, "status": {**over, "startTime": timestamp(2)}},
        {"metadata": {"name": "d"}, "status": {"startTime": timestamp(0)}},
    ]
    for limit, gone in ((1, ["c", "b"]), (2, ["c"]), (0, ["c", "b", "a"])):
        assert [name_of(one) for one in job_history.outdated({"spec": {"failedJobsHistoryLimit": limit}}, jobs)] == gone


async def test_suspended_one_starts_nothing_and_makes_up_for_the_last_time_once() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(suspend=True))
        await stage.pass_time(EARLY + 4.5 * MINUTE)
        assert await names(stage) == []
        await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert await names(stage) == [job_at(1_700_000_040 + 4 * MINUTE)]


async def test_deadline_makes_up_for_nothing_older() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron("*/10 * * * *", suspend=True, startingDeadlineSeconds=30))
        await stage.pass_time(400 + 31)  # 22:20 is 400 s away
        await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert await names(stage) == []
        await stage.pass_time(600 - 31)
        assert await names(stage) == [job_at(1_700_000_400 + 600)]


async def test_many_missed_times_are_told() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(suspend=True))
        await stage.pass_time(EARLY + 100.5 * MINUTE)
        await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert len(await names(stage)) == 1
        assert "TooManyMissedTimes" not in await reasons(stage)
        await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": True}})
        await stage.pass_time(102 * MINUTE)
        await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": False}})
        assert "TooManyMissedTimes" in await reasons(stage)


async def test_allow_lets_jobs_overlap() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await stage.pass_time(EARLY + MINUTE)
        assert len((await status(stage))["active"]) == 2


async def test_forbid_waits_for_the_one_before_and_starts_late() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(concurrencyPolicy="Forbid"))
        await stage.pass_time(EARLY + 2 * MINUTE + 10)
        assert await names(stage) == [job_at(1_700_000_040)]
        assert "JobAlreadyActive" in await reasons(stage)
        await finish(stage)
        assert await names(stage) == [job_at(1_700_000_040), job_at(1_700_000_040 + 2 * MINUTE)]


async def test_cj_8_replace_ends_the_one_before() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(concurrencyPolicy="Replace"))
        await stage.pass_time(EARLY + MINUTE)
        assert await names(stage) == [job_at(1_700_000_040 + MINUTE)]
        assert [one["name"] for one in (await status(stage))["active"]] == [job_at(1_700_000_040 + MINUTE)]


async def run_through(stage: Stage, *phases: str) -> None:
    """A minute for each; its job ends like this."""
    for phase in phases:
        await stage.pass_time(MINUTE)
        await finish(stage, phase)


@pytest.mark.parametrize(("good", "bad"), [(3, 1), (1, 2), (0, 0)])
async def test_cj_1_so_many_are_kept_of_each_end(good: int, bad: int) -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(successfulJobsHistoryLimit=good, failedJobsHistoryLimit=bad))
        await run_through(stage, *["Succeeded"] * 4, *["Failed"] * 3)
        first = 1_700_000_040
        wanted = [job_at(first + MINUTE * number) for number in [*range(4 - good, 4), *range(7 - bad, 7)]]
        assert await names(stage) == wanted, "CJ-5: those that began last stay"
        assert (await status(stage)).get("active") is None


async def test_cj_1_usual_limits() -> None:
    async with staged("cronjobs") as stage:
        made = await stage.make(CRON_JOBS, "tick", cron())
        assert (made["spec"]["successfulJobsHistoryLimit"], made["spec"]["failedJobsHistoryLimit"]) == (3, 1)


async def test_cj_2_history_is_cut_while_suspended_and_while_deleted() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(), finalizers=["test.example/hold"])
        await run_through(stage, *["Succeeded"] * 3)
        await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": True, "successfulJobsHistoryLimit": 2}})
        assert len(await names(stage)) == 2
        await stage.delete(CRON_JOBS, "tick")
        await stage.change(CRON_JOBS, "tick", {"spec": {"successfulJobsHistoryLimit": 1}})
        assert len(await names(stage)) == 1


async def test_cj_3_jobs_of_a_former_one_of_the_same_name_are_none_of_its_business() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await run_through(stage, "Succeeded")
        await stage.delete(CRON_JOBS, "tick", "Orphan")
        await stage.make(CRON_JOBS, "tick", cron("0 0 1 1 *", successfulJobsHistoryLimit=0))
        assert len(await names(stage)) == 1


async def test_cj_6_removal_is_told_and_takes_the_pods() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(successfulJobsHistoryLimit=0))
        await run_through(stage, "Succeeded")
        assert await names(stage) == []
        assert await stage.pods() == []
        assert await reasons(stage) == ["SuccessfulCreate", "SuccessfulDelete"]


async def test_cj_6_job_that_cannot_be_removed_is_told_and_keeps_no_other_from_going() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await run_through(stage, *["Succeeded"] * 3)
        first, _, third = await names(stage)
        with stage.cluster.line.refusing(f"DELETE .*/jobs/{first}", errors.StoreUnavailable("not now")):
            await stage.change(CRON_JOBS, "tick", {"spec": {"suspend": True, "successfulJobsHistoryLimit": 1}})
            assert await names(stage) == [first, third]
            assert {"FailedDelete", "SuccessfulDelete"} <= {*await reasons(stage)}
        await stage.pass_time(1)
        assert await names(stage) == [third], "it is tried again"


async def test_cj_8_nothing_replaces_a_job_that_cannot_be_ended() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(concurrencyPolicy="Replace"))
        await stage.pass_time(EARLY)
        [first] = await names(stage)
        with stage.cluster.line.refusing(f"DELETE .*/jobs/{first}", errors.StoreUnavailable("not now")):
            await stage.pass_time(MINUTE)
            assert await names(stage) == [first]
        await stage.pass_time(10)
        assert await names(stage) == [job_at(1_700_000_040 + MINUTE)]


@pytest.mark.parametrize(
    ("told", "end"), [([], ""), (["Complete"], "Complete"), (["Failed", "Complete"], "Failed"), (["Suspended", "Failed"], "Failed")]
)
def test_cj_4_the_first_end_that_a_job_tells_counts(told: list[str], end: str) -> None:
    assert job_history.end_of({"status": {"conditions": done(*told)}}) == end
    assert job_history.end_of({"status": {"conditions": [{**one, "status": "False"} for one in done(*told)]}}) == ""


async def finish_by_hand(stage: Stage, *jobs: str) -> None:
    for name in jobs:
        over = {"startTime": timestamp(1_700_000_000), "completionTime": timestamp(1_700_000_001), "succeeded": 1}
        told = {**over, "conditions": done("SuccessCriteriaMet", "Complete")}
        await stage.change(JOBS, name, {"status": told}, "status")


async def test_cj_4_jobs_that_are_not_over_are_no_history() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0))
        await stage.pass_time(EARLY + 2 * MINUTE)
        first, second, third = await names(stage)
        await finish_by_hand(stage, second)
        assert await names(stage) == [first, third]


async def test_cj_7_what_was_removed_is_written_down_in_one_go() -> None:
    async with staged() as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        async with stage.working("cronjobs"):
            await stage.pass_time(EARLY + 2 * MINUTE)
        assert len((await status(stage))["active"]) == 3
        await finish_by_hand(stage, *await names(stage))
        await stage.change(CRON_JOBS, "tick", {"spec": {"successfulJobsHistoryLimit": 0, "suspend": True}})
        async with stage.cluster.watching("/apis/batch/v1/namespaces/default/cronjobs") as events:
            with stage.cluster.line.refusing("PUT .*/cronjobs/tick/status", errors.StoreUnavailable("not now")):
                async with stage.working("cronjobs"):
                    assert await names(stage) == []
                    assert events == []
                    stage.cluster.line.let_all_pass()
                    await stage.pass_time(1)
        assert [one["object"]["status"].get("active") for one in events] == [None]


async def test_cj_12_how_late_a_job_was_is_counted() -> None:
    async with staged() as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await stage.pass_time(EARLY + 5)
        async with stage.working("cronjobs"):
            shown = (await stage.cluster.ask("GET", "/metrics", accept="text/plain")).body.decode()
            assert "cronjob_controller_job_creation_skew_duration_seconds_sum 5.0" in shown


async def test_cj_9_end_of_a_job_is_written_down() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await run_through(stage, "Succeeded")
        done = await status(stage)
        assert "active" not in done
        [job] = await stage.all(JOBS)
        assert done["lastSuccessfulTime"] == job["status"]["completionTime"]
        assert "SawCompletedJob" in await reasons(stage)
        await run_through(stage, "Failed")
        assert (await status(stage))["lastSuccessfulTime"] == job["status"]["completionTime"]


async def test_cj_9_job_that_somebody_deletes_goes_missing() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await stage.pass_time(EARLY)
        [name] = await names(stage)
        await stage.delete(JOBS, name, "Background")
        assert "active" not in await status(stage)
        assert "MissingJob" in await reasons(stage)


async def test_cj_9_job_that_it_did_not_make_is_told_and_not_counted() -> None:
    async with staged("cronjobs") as stage:
        owner = await stage.make(CRON_JOBS, "tick", cron("0 0 1 1 *"))
        await stage.make(JOBS, "by-hand", cron()["jobTemplate"]["spec"], ownerReferences=[CRON_JOB.reference(owner)])
        assert await reasons(stage) == ["UnexpectedJob"]
        assert "active" not in await status(stage)


async def test_cj_10_nothing_starts_while_it_is_deleted() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron(), finalizers=["test.example/hold"])
        await stage.delete(CRON_JOBS, "tick")
        await stage.pass_time(5 * MINUTE)
        assert await names(stage) == []


async def test_job_of_that_time_that_is_there_already_is_not_made_again() -> None:
    async with staged("cronjobs") as stage:
        owner = await stage.make(CRON_JOBS, "tick", cron())
        await stage.pass_time(EARLY)
        await stage.change(CRON_JOBS, "tick", {"status": {"active": None, "lastScheduleTime": None}}, "status")
        [job] = await stage.all(JOBS)
        assert owners_of(job) == [owner["metadata"]["uid"]]
        found = await status(stage)
        assert [one["uid"] for one in found["active"]] == [job["metadata"]["uid"]]
        assert found["lastScheduleTime"] == timestamp(1_700_000_040)


async def test_name_that_somebody_else_has_taken_is_told_and_the_next_time_comes() -> None:
    async with staged("cronjobs") as stage:
        await stage.make(JOBS, job_at(1_700_000_040), cron()["jobTemplate"]["spec"])
        await stage.make(CRON_JOBS, "tick", cron())
        await stage.pass_time(EARLY)
        assert await reasons(stage) == ["FailedCreate"]
        await stage.pass_time(MINUTE)
        assert job_at(1_700_000_040 + MINUTE) in await names(stage)


async def test_everything_goes_with_it() -> None:
    async with staged("cronjobs", "jobs") as stage:
        await stage.make(CRON_JOBS, "tick", cron())
        await stage.pass_time(EARLY + MINUTE)
        await stage.delete(CRON_JOBS, "tick", "Foreground")
        assert await stage.find(CRON_JOBS, "tick") is None
        assert [*await names(stage), *await stage.pods()] == []
