"""Jobs: how many pods there are, and how it ends. What is written down about each pod: `test_job_tracking`."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.workloads.owner_kinds import PODS
from probate.controllers.workloads.pod_template import is_active
from support.workload_cluster import JOBS, NAMESPACE, Object, Stage, condition, name_of, staged, template

TRACKING = "batch.kubernetes.io/job-tracking"


def job(completions: int | None = 1, parallelism: int = 1, **spec: Any) -> Object:
    wanted = {} if completions is None else {"completions": completions}
    return {"parallelism": parallelism, **wanted, "template": template(restartPolicy="Never"), **spec}


async def active(stage: Stage) -> list[Object]:
    return [pod for pod in await stage.pods() if is_active(pod)]


async def status(stage: Stage) -> Object:
    found: Object = (await stage.get(JOBS, "work"))["status"]
    return found


async def fail(stage: Stage, *pods: Object, **more: Any) -> None:
    """The pods fail, and the time that is waited after that passes."""
    await stage.end(*pods, phase="Failed", **more)
    await stage.pass_time(601)


async def test_job_runs_as_many_pods_at_once_as_it_may_until_all_have_succeeded() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(5, 2))
        assert (await status(stage))["startTime"]
        for left in (2, 2, 2, 2, 1):
            pods = await active(stage)
            assert len(pods) == left
            assert (await status(stage))["active"] == left
            await stage.end(pods[0])
        done = await stage.get(JOBS, "work")
        assert (done["status"]["succeeded"], done["status"].get("active", 0), "failed" in done["status"]) == (5, 0, False)
        assert condition(done, "Complete")["status"] == "True"
        assert condition(done, "SuccessCriteriaMet")["reason"] == "CompletionsReached"
        assert done["status"]["completionTime"]
        assert ("Completed", "Job completed") in await stage.told("work")


async def test_job_without_a_number_ends_when_all_have_ended_after_the_first_success() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(None, 3))
        one, two, three = await active(stage)
        await stage.end(one)
        assert len(await active(stage)) == 2, "after a success nobody new begins"
        await stage.end(two, phase="Failed")
        await stage.pass_time(601)
        assert condition(await stage.get(JOBS, "work"), "Complete") == {}
        await stage.end(three)
        assert condition(await stage.get(JOBS, "work"), "Complete")["status"] == "True"


async def test_parallelism_can_change_and_pods_that_are_too_many_do_not_count_as_failed() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(10, 4))
        await stage.change(JOBS, "work", {"spec": {"parallelism": 1}})
        assert len(await stage.pods()) == 1
        assert "failed" not in await status(stage)
        await stage.change(JOBS, "work", {"spec": {"parallelism": 0}})
        assert await stage.pods() == []
        await stage.change(JOBS, "work", {"spec": {"parallelism": 3}})
        assert len(await stage.pods()) == 3


async def test_failed_pods_are_replaced_later_each_time_until_there_are_too_many() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(backoffLimit=2))
        for wait in (10, 20):
            await stage.end(*await active(stage), phase="Failed")
            await stage.pass_time(wait - 1)
            assert await active(stage) == []
            await stage.pass_time(1)
            assert len(await active(stage)) == 1
        await stage.end(*await active(stage), phase="Failed")
        ended = await stage.get(JOBS, "work")
        assert (condition(ended, "Failed")["reason"], ended["status"]["failed"]) == ("BackoffLimitExceeded", 3)
        assert condition(ended, "FailureTarget")["reason"] == "BackoffLimitExceeded"
        assert await active(stage) == []


async def test_success_ends_the_row_of_failures() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(9, 1))
        for _ in range(3):
            await fail(stage, *await active(stage))
        await stage.end(*await active(stage))
        await stage.end(*await active(stage), phase="Failed")
        await stage.pass_time(10)
        assert len(await active(stage)) == 1, "only one failure since the last success"


async def test_containers_that_are_restarted_in_their_pod_count_too() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(backoffLimit=3, template=template(restartPolicy="OnFailure")))
        [pod] = await active(stage)
        restarted = {"name": "c", "restartCount": 2, "image": "i", "imageID": "", "ready": False}
        await stage.end(pod, phase="Running", containerStatuses=[restarted])
        assert condition(await stage.get(JOBS, "work"), "FailureTarget") == {}
        await stage.end(pod, phase="Running", containerStatuses=[{**restarted, "restartCount": 3}])
        assert condition(await stage.get(JOBS, "work"), "FailureTarget")["reason"] == "BackoffLimitExceeded"


async def test_job_that_takes_too_long_is_ended_at_its_deadline() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(activeDeadlineSeconds=100))
        await stage.pass_time(99)
        assert len(await active(stage)) == 1
        await stage.pass_time(1)
        ended = await stage.get(JOBS, "work")
        assert (condition(ended, "Failed")["reason"], ended["status"]["failed"]) == ("DeadlineExceeded", 1)
        assert await stage.pods() == []


async def test_suspended_job_has_no_pods_and_its_time_does_not_run() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(2, 2, suspend=True, activeDeadlineSeconds=100))
        assert await stage.pods() == []
        assert condition(await stage.get(JOBS, "work"), "Suspended")["status"] == "True"
        assert "startTime" not in await status(stage)
        await stage.pass_time(500)
        await stage.change(JOBS, "work", {"spec": {"suspend": False}})
        resumed = await stage.get(JOBS, "work")
        assert (condition(resumed, "Suspended")["status"], resumed["status"]["active"]) == ("False", 2)
        await stage.pass_time(60)
        await stage.change(JOBS, "work", {"spec": {"suspend": True}})
        assert await stage.pods() == []
        assert "failed" not in await status(stage)
        await stage.change(JOBS, "work", {"spec": {"suspend": False}})
        await stage.pass_time(60)
        assert len(await active(stage)) == 2, "the time before it was suspended does not count"


async def test_job_that_ends_while_it_is_suspended_says_that_it_has_begun() -> None:
    async with staged() as stage:
        made = await stage.make(JOBS, "work", job(1, 1, suspend=True))
        told = [{"type": "Suspended", "status": "True"}]
        await stage.change(JOBS, "work", {"status": {"conditions": told}}, "status")
        await stage.end(await stage.pod("late", labels=made["spec"]["template"]["metadata"]["labels"]))
        async with stage.working("jobs"):
            done = await stage.get(JOBS, "work")
            assert condition(done, "Complete")["status"] == "True"
            assert done["status"]["startTime"] <= done["status"]["completionTime"]


async def test_indexed_job_gives_each_pod_a_number_until_each_has_succeeded() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(4, 3, completionMode="Indexed"))
        pods = {index(pod): pod for pod in await active(stage)}
        assert sorted(pods) == [0, 1, 2]
        meta, spec = pods[2]["metadata"], pods[2]["spec"]
        assert (meta["generateName"], spec["hostname"]) == ("work-2-", "work-2")
        assert meta["labels"]["batch.kubernetes.io/job-completion-index"] == "2"
        [variable] = spec["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        await stage.end(pods[0], pods[2])
        assert ((await status(stage))["completedIndexes"], (await status(stage))["succeeded"]) == ("0,2", 2)
        assert sorted(map(index, await active(stage))) == [1, 3]
        await fail(stage, pods[1])
        assert sorted(map(index, await active(stage))) == [1, 3]
        await stage.end(*await active(stage))
        done = await stage.get(JOBS, "work")
        assert (done["status"]["completedIndexes"], done["status"]["succeeded"], done["status"]["failed"]) == ("0-3", 4, 1)
        assert condition(done, "Complete")["status"] == "True"


def index(pod: Object) -> int:
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


async def test_indexed_pods_whose_number_is_not_wanted_or_taken_go() -> None:
    async with staged("jobs") as stage:
        made = await stage.make(JOBS, "work", job(2, 1, completionMode="Indexed"))
        [first] = await active(stage)
        await stage.run(first)
        for name, number in {"again": "0", "beyond": "7"}.items():
            meta = {**first["metadata"], "name": name, "annotations": {"batch.kubernetes.io/job-completion-index": number}}
            kept = {field: meta[field] for field in ("name", "annotations", "labels", "ownerReferences", "finalizers")}
            await stage.client.create(PODS, NAMESPACE, {"metadata": kept, "spec": first["spec"]})
        await stage.settle()
        assert [name_of(pod) for pod in await stage.pods(made)] == [name_of(first)]
        assert "failed" not in await status(stage)


async def test_index_has_a_limit_of_its_own() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(2, 2, completionMode="Indexed", backoffLimitPerIndex=1))
        for tries in ("0", "1"):
            pods = {index(pod): pod for pod in await active(stage)}
            assert pods[0]["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == tries
            await fail(stage, pods[0])
        assert [index(pod) for pod in await active(stage)] == [1]
        assert (await status(stage))["failedIndexes"] == "0"
        assert condition(await stage.get(JOBS, "work"), "FailureTarget") == {}, "the other index may still succeed"
        await stage.end(*await active(stage))
        ended = await stage.get(JOBS, "work")
        assert (condition(ended, "Failed")["reason"], ended["status"]["failed"]) == ("FailedIndexes", 2)


async def test_job_with_too_many_failed_indexes_ends() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(5, 5, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1))
        pods = await active(stage)
        await fail(stage, pods[0])
        assert len(await active(stage)) == 4
        await fail(stage, pods[1])
        assert condition(await stage.get(JOBS, "work"), "Failed")["reason"] == "MaxFailedIndexesExceeded"
        assert await active(stage) == []


async def test_job_ends_when_as_much_as_its_policy_asks_for_has_succeeded() -> None:
    async with staged("jobs") as stage:
        policy = {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]}
        await stage.make(JOBS, "work", job(5, 5, completionMode="Indexed", successPolicy=policy))
        pods = {index(pod): pod for pod in await active(stage)}
        await stage.end(pods[1], pods[2])
        assert condition(await stage.get(JOBS, "work"), "SuccessCriteriaMet") == {}
        await stage.end(pods[3])
        done = await stage.get(JOBS, "work")
        assert (condition(done, "Complete")["reason"], done["status"]["succeeded"]) == ("SuccessPolicy", 3)
        assert await active(stage) == []


@pytest.mark.parametrize(("code", "ends", "failed"), [(42, True, 1), (7, False, 0), (1, False, 1)])
async def test_exit_codes_decide_what_a_failure_means(code: int, ends: bool, failed: int) -> None:
    async with staged("jobs") as stage:
        rules = [
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
        ]
        await stage.make(JOBS, "work", job(podFailurePolicy={"rules": rules}, backoffLimit=6))
        state = {"terminated": {"exitCode": code, "finishedAt": "2023-11-14T22:13:20Z", "reason": "Error"}}
        ended = {"name": "c", "restartCount": 0, "image": "i", "imageID": "", "ready": False, "state": state}
        await fail(stage, *await active(stage), containerStatuses=[ended])
        found = await stage.get(JOBS, "work")
        assert (condition(found, "Failed").get("reason") == "PodFailurePolicy") == ends
        assert (found["status"].get("failed", 0), len(await active(stage))) == (failed, 0 if ends else 1)


async def test_disruption_that_is_to_be_ignored_is_no_failure() -> None:
    async with staged("jobs") as stage:
        rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
        await stage.make(JOBS, "work", job(podFailurePolicy={"rules": rules}, backoffLimit=0))
        await fail(stage, *await active(stage), conditions=[{"type": "DisruptionTarget", "status": "True"}])
        assert len(await active(stage)) == 1
        assert "failed" not in await status(stage)
