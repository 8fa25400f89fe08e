"""Jobs: how many pods run, and how the Job ends. `test_finished_pod_tracking` covers how each pod is counted."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.workloads.owner_kinds import PODS
from probate.controllers.workloads.pod_template import is_active
from support.workload_cluster import JOBS, NAMESPACE, WorkloadCluster, condition, name_of, template, workload_cluster

TRACKING = "batch.kubernetes.io/job-tracking"


def job(completions: int | None = 1, parallelism: int = 1, **spec: Any) -> Object:
    completions_field = {} if completions is None else {"completions": completions}
    return {"parallelism": parallelism, **completions_field, "template": template(restartPolicy="Never"), **spec}


async def active(cluster: WorkloadCluster) -> list[Object]:
    return [pod for pod in await cluster.pods() if is_active(pod)]


async def status(cluster: WorkloadCluster) -> Object:
    result: Object = (await cluster.get(JOBS, "work"))["status"]
    return result


async def fail(cluster: WorkloadCluster, *pods: Object, **status: Any) -> None:
    """Marks the pods as failed, and passes the backoff."""
    await cluster.finish(*pods, phase="Failed", **status)
    await cluster.pass_time(601)


async def test_job_runs_up_to_parallelism_pods_until_all_completions_succeed() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(5, 2))
        assert (await status(cluster))["startTime"]
        for expected in (2, 2, 2, 2, 1):
            pods = await active(cluster)
            assert len(pods) == expected
            assert (await status(cluster))["active"] == expected
            await cluster.finish(pods[0])
        complete = await cluster.get(JOBS, "work")
        assert (complete["status"]["succeeded"], complete["status"].get("active", 0), "failed" in complete["status"]) == (
            5,
            0,
            False,
        )
        assert condition(complete, "Complete")["status"] == "True"
        assert condition(complete, "SuccessCriteriaMet")["reason"] == "CompletionsReached"
        assert complete["status"]["completionTime"]
        assert ("Completed", "Job completed") in await cluster.event_messages("work")


async def test_job_without_completions_finishes_when_all_pods_end_after_the_first_success() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(None, 3))
        first, second, third = await active(cluster)
        await cluster.finish(first)
        assert len(await active(cluster)) == 2, "after a success no new pod is created"
        await cluster.finish(second, phase="Failed")
        await cluster.pass_time(601)
        assert condition(await cluster.get(JOBS, "work"), "Complete") == {}
        await cluster.finish(third)
        assert condition(await cluster.get(JOBS, "work"), "Complete")["status"] == "True"


async def test_parallelism_can_change_and_surplus_pods_do_not_count_as_failed() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(10, 4))
        await cluster.change(JOBS, "work", {"spec": {"parallelism": 1}})
        assert len(await cluster.pods()) == 1
        assert "failed" not in await status(cluster)
        await cluster.change(JOBS, "work", {"spec": {"parallelism": 0}})
        assert await cluster.pods() == []
        await cluster.change(JOBS, "work", {"spec": {"parallelism": 3}})
        assert len(await cluster.pods()) == 3


async def test_failed_pods_are_replaced_with_backoff_up_to_the_limit() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(backoffLimit=2))
        for wait in (10, 20):
            await cluster.finish(*await active(cluster), phase="Failed")
            await cluster.pass_time(wait - 1)
            assert await active(cluster) == []
            await cluster.pass_time(1)
            assert len(await active(cluster)) == 1
        await cluster.finish(*await active(cluster), phase="Failed")
        failed = await cluster.get(JOBS, "work")
        assert (condition(failed, "Failed")["reason"], failed["status"]["failed"]) == ("BackoffLimitExceeded", 3)
        assert condition(failed, "FailureTarget")["reason"] == "BackoffLimitExceeded"
        assert await active(cluster) == []


async def test_success_resets_the_backoff() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(9, 1))
        for _ in range(3):
            await fail(cluster, *await active(cluster))
        await cluster.finish(*await active(cluster))
        await cluster.finish(*await active(cluster), phase="Failed")
        await cluster.pass_time(10)
        assert len(await active(cluster)) == 1, "only one failure since the last success"


async def test_container_restarts_count_towards_the_backoff_limit() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(backoffLimit=3, template=template(restartPolicy="OnFailure")))
        [pod] = await active(cluster)
        restarted = {"name": "c", "restartCount": 2, "image": "i", "imageID": "", "ready": False}
        await cluster.finish(pod, phase="Running", containerStatuses=[restarted])
        assert condition(await cluster.get(JOBS, "work"), "FailureTarget") == {}
        await cluster.finish(pod, phase="Running", containerStatuses=[{**restarted, "restartCount": 3}])
        assert condition(await cluster.get(JOBS, "work"), "FailureTarget")["reason"] == "BackoffLimitExceeded"


async def test_job_fails_at_its_deadline() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(activeDeadlineSeconds=100))
        await cluster.pass_time(99)
        assert len(await active(cluster)) == 1
        await cluster.pass_time(1)
        failed = await cluster.get(JOBS, "work")
        assert (condition(failed, "Failed")["reason"], failed["status"]["failed"]) == ("DeadlineExceeded", 1)
        assert await cluster.pods() == []


async def test_suspended_job_has_no_pods_and_its_deadline_is_paused() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(2, 2, suspend=True, activeDeadlineSeconds=100))
        assert await cluster.pods() == []
        assert condition(await cluster.get(JOBS, "work"), "Suspended")["status"] == "True"
        assert "startTime" not in await status(cluster)
        await cluster.pass_time(500)
        await cluster.change(JOBS, "work", {"spec": {"suspend": False}})
        resumed = await cluster.get(JOBS, "work")
        assert (condition(resumed, "Suspended")["status"], resumed["status"]["active"]) == ("False", 2)
        await cluster.pass_time(60)
        await cluster.change(JOBS, "work", {"spec": {"suspend": True}})
        assert await cluster.pods() == []
        assert "failed" not in await status(cluster)
        await cluster.change(JOBS, "work", {"spec": {"suspend": False}})
        await cluster.pass_time(60)
        assert len(await active(cluster)) == 2, "the time before it was suspended does not count"


async def test_job_that_finishes_while_suspended_has_a_start_time() -> None:
    async with workload_cluster() as cluster:
        created = await cluster.create(JOBS, "work", job(1, 1, suspend=True))
        conditions = [{"type": "Suspended", "status": "True"}]
        await cluster.change(JOBS, "work", {"status": {"conditions": conditions}}, part="status")
        await cluster.finish(await cluster.pod("late", labels=created["spec"]["template"]["metadata"]["labels"]))
        async with cluster.controllers_running("jobs"):
            complete = await cluster.get(JOBS, "work")
            assert condition(complete, "Complete")["status"] == "True"
            assert complete["status"]["startTime"] <= complete["status"]["completionTime"]


async def test_indexed_job_gives_each_pod_an_index_until_each_has_succeeded() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(4, 3, completionMode="Indexed"))
        pods = {index(pod): pod for pod in await active(cluster)}
        assert sorted(pods) == [0, 1, 2]
        meta, spec = pods[2]["metadata"], pods[2]["spec"]
        assert (meta["generateName"], spec["hostname"]) == ("work-2-", "work-2")
        assert meta["labels"]["batch.kubernetes.io/job-completion-index"] == "2"
        [variable] = spec["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        await cluster.finish(pods[0], pods[2])
        assert ((await status(cluster))["completedIndexes"], (await status(cluster))["succeeded"]) == ("0,2", 2)
        assert sorted(map(index, await active(cluster))) == [1, 3]
        await fail(cluster, pods[1])
        assert sorted(map(index, await active(cluster))) == [1, 3]
        await cluster.finish(*await active(cluster))
        complete = await cluster.get(JOBS, "work")
        assert (complete["status"]["completedIndexes"], complete["status"]["succeeded"], complete["status"]["failed"]) == (
            "0-3",
            4,
            1,
        )
        assert condition(complete, "Complete")["status"] == "True"


def index(pod: Object) -> int:
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


async def test_pods_with_invalid_or_duplicate_index_are_deleted() -> None:
    async with workload_cluster("jobs") as cluster:
        created = await cluster.create(JOBS, "work", job(2, 1, completionMode="Indexed"))
        [first] = await active(cluster)
        await cluster.run(first)
        for name, number in {"again": "0", "beyond": "7"}.items():
            meta = {**first["metadata"], "name": name, "annotations": {"batch.kubernetes.io/job-completion-index": number}}
            metadata = {field: meta[field] for field in ("name", "annotations", "labels", "ownerReferences", "finalizers")}
            await cluster.client.create(PODS, NAMESPACE, {"metadata": metadata, "spec": first["spec"]})
        await cluster.settle()
        assert [name_of(pod) for pod in await cluster.pods(created)] == [name_of(first)]
        assert "failed" not in await status(cluster)


async def test_backoff_limit_per_index() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(2, 2, completionMode="Indexed", backoffLimitPerIndex=1))
        for tries in ("0", "1"):
            pods = {index(pod): pod for pod in await active(cluster)}
            assert pods[0]["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == tries
            await fail(cluster, pods[0])
        assert [index(pod) for pod in await active(cluster)] == [1]
        assert (await status(cluster))["failedIndexes"] == "0"
        assert condition(await cluster.get(JOBS, "work"), "FailureTarget") == {}, "the other index may still succeed"
        await cluster.finish(*await active(cluster))
        failed = await cluster.get(JOBS, "work")
        assert (condition(failed, "Failed")["reason"], failed["status"]["failed"]) == ("FailedIndexes", 2)


async def test_job_with_too_many_failed_indexes_fails() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(5, 5, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1))
        pods = await active(cluster)
        await fail(cluster, pods[0])
        assert len(await active(cluster)) == 4
        await fail(cluster, pods[1])
        assert condition(await cluster.get(JOBS, "work"), "Failed")["reason"] == "MaxFailedIndexesExceeded"
        assert await active(cluster) == []


async def test_job_completes_when_its_success_policy_is_met() -> None:
    async with workload_cluster("jobs") as cluster:
        policy = {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]}
        await cluster.create(JOBS, "work", job(5, 5, completionMode="Indexed", successPolicy=policy))
        pods = {index(pod): pod for pod in await active(cluster)}
        await cluster.finish(pods[1], pods[2])
        assert condition(await cluster.get(JOBS, "work"), "SuccessCriteriaMet") == {}
        await cluster.finish(pods[3])
        complete = await cluster.get(JOBS, "work")
        assert (condition(complete, "Complete")["reason"], complete["status"]["succeeded"]) == ("SuccessPolicy", 3)
        assert await active(cluster) == []


@pytest.mark.parametrize(("code", "is_job_failed", "failures"), [(42, True, 1), (7, False, 0), (1, False, 1)])
async def test_pod_failure_policy_by_exit_code(code: int, is_job_failed: bool, failures: int) -> None:
    async with workload_cluster("jobs") as cluster:
        rules = [
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
        ]
        await cluster.create(JOBS, "work", job(podFailurePolicy={"rules": rules}, backoffLimit=6))
        state = {"terminated": {"exitCode": code, "finishedAt": "2023-11-14T22:13:20Z", "reason": "Error"}}
        container_status = {"name": "c", "restartCount": 0, "image": "i", "imageID": "", "ready": False, "state": state}
        await fail(cluster, *await active(cluster), containerStatuses=[container_status])
        created = await cluster.get(JOBS, "work")
        assert (condition(created, "Failed").get("reason") == "PodFailurePolicy") == is_job_failed
        assert (created["status"].get("failed", 0), len(await active(cluster))) == (failures, 0 if is_job_failed else 1)


async def test_ignored_disruption_is_not_a_failure() -> None:
    async with workload_cluster("jobs") as cluster:
        rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
        await cluster.create(JOBS, "work", job(podFailurePolicy={"rules": rules}, backoffLimit=0))
        await fail(cluster, *await active(cluster), conditions=[{"type": "DisruptionTarget", "status": "True"}])
        assert len(await active(cluster)) == 1
        assert "failed" not in await status(cluster)
