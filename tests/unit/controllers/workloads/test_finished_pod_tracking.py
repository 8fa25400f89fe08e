"""Jobs count each pod exactly once and then release it: JOB-1 to JOB-15."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.informers import Informer
from probate.client.objects import Client
from probate.controllers.workloads.jobs import finished_pod_tracker
from probate.controllers.workloads.jobs.finished_pod_tracker import FinishedPodTracker
from probate.controllers.workloads.jobs.job_state import JobState
from probate.controllers.workloads.jobs.orphan_pods import remove_tracking_finalizer
from probate.controllers.workloads.owner_kinds import PODS
from probate.controllers.workloads.pod_template import is_active
from probate.core.aio import tasks
from probate.server.local_transport import LocalTransport
from support.workload_cluster import JOBS, NAMESPACE, WorkloadCluster, condition, name_of, owners_of, template, workload_cluster

TRACKING = "batch.kubernetes.io/job-tracking"
OTHER_FINALIZER = "e.com/hold"


def job(completions: int = 1, parallelism: int = 1, **spec: Any) -> Object:
    return {"parallelism": parallelism, "completions": completions, "template": template(restartPolicy="Never"), **spec}


def is_tracked(pod: Object) -> bool:
    return TRACKING in pod["metadata"].get("finalizers", [])


async def status(cluster: WorkloadCluster) -> Object:
    result: Object = (await cluster.get(JOBS, "work"))["status"]
    return result


def reference(owner: Object, **fields: Any) -> Object:
    fields_ = {"apiVersion": "batch/v1", "kind": "Job", "name": name_of(owner), "uid": owner["metadata"]["uid"]}
    return {**fields_, "controller": True, "blockOwnerDeletion": True, **fields}


async def test_job_1_new_pods_hold_the_finalizer_and_refer_to_the_job() -> None:
    async with workload_cluster("jobs") as cluster:
        pod_template = template(restartPolicy="Never")
        pod_template["metadata"]["finalizers"] = [OTHER_FINALIZER]
        owner = await cluster.create(JOBS, "work", job(template=pod_template))
        [pod] = await cluster.pods()
        assert (pod["metadata"]["finalizers"], pod["metadata"]["ownerReferences"]) == (
            [OTHER_FINALIZER, TRACKING],
            [reference(owner)],
        )


async def test_job_1_adopted_pods_get_reference_and_finalizer_and_released_ones_lose_both() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.pod("orphan")
        selector: Object = {"selector": {"matchLabels": {"app": "web"}}, "manualSelector": True}
        owner = await cluster.create(JOBS, "work", job(**selector))
        [adopted] = await cluster.pods()
        assert (name_of(adopted), owners_of(adopted), is_tracked(adopted)) == ("orphan", [owner["metadata"]["uid"]], True)
        async with cluster.server.watching(PODS.path(NAMESPACE)) as events:
            await cluster.change(PODS, "orphan", {"metadata": {"labels": {"app": "other"}}})
        versions = [event["object"] for event in events if name_of(event["object"]) == "orphan"]
        states = [(owners_of(pod) != [], is_tracked(pod)) for pod in versions]
        assert states == [(True, True), (False, False)], "reference and finalizer were not changed in one write"


async def test_job_2_finalizer_is_removed_when_the_pod_has_ended_or_counts_as_failed() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(4, 3))
        first, second, third = await cluster.pods()
        await cluster.bind(third)
        await cluster.finish(first)
        await cluster.finish(second, phase="Failed")
        await cluster.delete(PODS, name_of(third))
        assert [is_tracked(await cluster.get(PODS, name_of(pod))) for pod in (first, second, third)] == [False, False, False]
        assert ((await status(cluster))["succeeded"], (await status(cluster))["failed"]) == (1, 2)


@pytest.mark.parametrize("policy", ["TerminatingOrFailed", "Failed"])
async def test_job_2_finalizer_is_removed_from_all_pods_of_a_finished_job(policy: str) -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(3, 3, backoffLimit=0, podReplacementPolicy=policy))
        pods = await cluster.pods()
        await cluster.bind(*pods)
        await cluster.finish(pods[0], phase="Failed")
        assert [is_tracked(pod) for pod in await cluster.pods()] == [False, False, False]


async def test_job_2_last_failed_pod_of_an_index_is_tracked_until_it_is_replaced() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(1, 1, completionMode="Indexed", backoffLimitPerIndex=3))
        [first] = await cluster.pods()
        await cluster.finish(first, phase="Failed")
        assert is_tracked(await cluster.get(PODS, name_of(first)))
        await cluster.pass_time(10)
        assert len(await cluster.pods()) == 2
        assert not is_tracked(await cluster.get(PODS, name_of(first)))
        assert (await status(cluster))["failed"] == 1


@pytest.mark.parametrize(("policy", "counts"), [("TerminatingOrFailed", True), ("Failed", False)])
async def test_job_3_terminating_pod_counts_as_failed_unless_the_policy_is_failed(policy: str, counts: bool) -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(podReplacementPolicy=policy))
        [pod] = await cluster.pods()
        await cluster.bind(pod)
        await cluster.delete(PODS, name_of(pod))
        await cluster.pass_time(60)
        job_status = await status(cluster)
        assert (job_status.get("failed", 0), job_status.get("active", 0), job_status["terminating"]) == (
            (1, 1, 1) if counts else (0, 0, 1)
        )
        await cluster.finish(pod, phase="Failed")
        await cluster.pass_time(60)
        assert ((await status(cluster))["failed"], (await status(cluster))["active"]) == (1, 1)


async def test_job_4_uid_is_written_before_the_finalizer_is_removed_and_counted_after() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(2, 2))
        pod, _ = await cluster.pods()
        async with cluster.server.watching(JOBS.path(NAMESPACE)) as jobs, cluster.server.watching(PODS.path(NAMESPACE)) as pods:
            await cluster.finish(pod)
        changes = {int(event["object"]["metadata"]["resourceVersion"]): event["object"] for event in [*jobs, *pods]}
        steps = []
        for _, changed in sorted(changes.items()):
            if name_of(changed) == "work":
                steps.append((changed["status"].get("succeeded", 0), changed["status"]["uncountedTerminatedPods"].get("succeeded")))
            elif name_of(changed) == name_of(pod):
                steps.append((changed["status"]["phase"], is_tracked(changed)))
        uid = pod["metadata"]["uid"]
        assert steps == [("Succeeded", True), (0, [uid]), ("Succeeded", False), (1, None)]


@pytest.mark.parametrize("is_held", [True, False], ids=["before the finalizer was removed", "after it was removed"])
async def test_job_4_interrupted_count_continues_from_the_written_status(is_held: bool) -> None:
    async with workload_cluster() as cluster:
        owner = await cluster.create(JOBS, "work", job(2, 2))
        finalizers = [TRACKING] if is_held else []
        labels = owner["spec"]["template"]["metadata"]["labels"]
        pod = await cluster.pod("done", labels=labels, ownerReferences=[reference(owner)], finalizers=finalizers)
        await cluster.finish(pod)
        uid = pod["metadata"]["uid"]
        job_status = {"uncountedTerminatedPods": {"succeeded": [uid]}, "active": 1}
        await cluster.change(JOBS, "work", {"status": job_status}, part="status")
        cluster.server._names = ("jobs",)
        async with cluster.server.controlling():
            await cluster.settle()
            result = await status(cluster)
            assert (result["succeeded"], result["active"], result["uncountedTerminatedPods"]) == (1, 1, {})
            assert not is_tracked(await cluster.get(PODS, "done"))


@pytest.mark.parametrize(("first", "then"), [("succeeded", "Failed"), ("succeeded", "Running"), ("failed", "Succeeded")])
async def test_pod_whose_phase_changed_after_it_was_listed_was_listed_twice_and_kept_its_finalizer(first: str, then: str) -> None:
    async with workload_cluster() as cluster:
        owner = await cluster.create(JOBS, "work", job(2, 2))
        labels = owner["spec"]["template"]["metadata"]["labels"]
        pod = await cluster.pod("done", labels=labels, ownerReferences=[reference(owner)], finalizers=[TRACKING])
        await cluster.finish(pod, phase=then)
        await cluster.change(
            JOBS, "work", {"status": {"uncountedTerminatedPods": {first: [pod["metadata"]["uid"]]}}}, part="status"
        )
        cluster.server._names = ("jobs",)
        async with cluster.server.controlling():
            await cluster.delete(PODS, "done")
            await cluster.settle()
            job_status = await status(cluster)
            assert (job_status.get(first), job_status["uncountedTerminatedPods"]) == (1, {})
            assert {"succeeded", "failed"} & set(job_status) == {first}, "counted twice"
            assert [name_of(pod) for pod in await cluster.pods() if name_of(pod) == "done"] == []


async def test_job_4_counted_pod_is_not_counted_again_when_deleted() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(2, 1))
        [pod] = await cluster.pods()
        await cluster.finish(pod)
        await cluster.delete(PODS, name_of(pod))
        assert ((await status(cluster))["succeeded"], "failed" in await status(cluster)) == (1, False)


def test_job_5_at_most_500_pods_are_uncounted_at_once() -> None:
    pods = [
        {"metadata": {"name": f"p{number}", "uid": f"u{number}", "finalizers": [TRACKING]}, "status": {"phase": "Succeeded"}}
        for number in range(600)
    ]
    tracker = FinishedPodTracker(JobState({"metadata": {"name": "work"}, "spec": {"completions": 600}}, pods))
    listed = tracker.list_finished(None)
    assert (len(listed.pods), listed.is_complete) == (finished_pod_tracker.MAX_UNCOUNTED_PODS, False)
    assert len(tracker.to_status()["uncountedTerminatedPods"]["succeeded"]) == 500
    tracker.count_released({f"u{number}" for number in range(600)} - {pod["metadata"]["uid"] for pod in listed.pods})
    assert (tracker.to_status()["succeeded"], tracker.has_no_uncounted) == (500, True)


async def test_job_5_more_pods_than_fit_in_one_sync_are_all_created_and_counted() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(520, 520))
        pods = await cluster.pods()
        assert len(pods) == 520
        for pod in pods:
            await cluster.client.patch(
                PODS, NAMESPACE, name_of(pod), change={"status": {"phase": "Succeeded"}}, subresource="status"
            )
        await cluster.settle()
        assert ((await status(cluster))["succeeded"], condition(await cluster.get(JOBS, "work"), "Complete")["status"]) == (
            520,
            "True",
        )


async def test_job_6_releasing_a_deleted_pod_is_not_an_error() -> None:
    async with workload_cluster() as cluster:
        pod = await cluster.pod("gone", finalizers=[TRACKING, OTHER_FINALIZER])
        client = Client(LocalTransport(cluster.server.api))
        informer = Informer(client, PODS, cluster.server.clock)
        await remove_tracking_finalizer(informer, pod)
        assert (await cluster.get(PODS, "gone"))["metadata"]["finalizers"] == [OTHER_FINALIZER], "it removed another finalizer too"
        await cluster.change(PODS, "gone", {"metadata": {"finalizers": None}})
        await cluster.delete(PODS, "gone")
        await remove_tracking_finalizer(informer, pod)


async def test_job_7_released_pod_counts_as_released_before_its_watch_event_arrives() -> None:
    async with workload_cluster() as cluster:
        pod = await cluster.pod("done", finalizers=[TRACKING, OTHER_FINALIZER])
        informer = Informer(Client(LocalTransport(cluster.server.api)), PODS, cluster.server.clock)
        informer_task = asyncio.ensure_future(informer.run())
        await informer.is_synced.wait()
        await tasks.stop(informer_task)  # it receives no more events
        await remove_tracking_finalizer(informer, pod)
        [cached] = list(informer)
        assert cached["metadata"]["finalizers"] == [OTHER_FINALIZER]


async def test_job_8_job_finishes_only_when_no_pod_is_terminating() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(2, 2, activeDeadlineSeconds=50))
        pods = await cluster.pods()
        await cluster.bind(*pods)
        await cluster.pass_time(50)
        decided = await cluster.get(JOBS, "work")
        assert condition(decided, "FailureTarget")["reason"] == "DeadlineExceeded"
        assert (condition(decided, "Failed"), decided["status"]["terminating"]) == ({}, 2)
        await cluster.delete(PODS, name_of(pods[0]), grace=0)
        assert condition(await cluster.get(JOBS, "work"), "Failed") == {}
        await cluster.delete(PODS, name_of(pods[1]), grace=0)
        finished = await cluster.get(JOBS, "work")
        assert (condition(finished, "Failed")["reason"], finished["status"]["terminating"]) == ("DeadlineExceeded", 0)


async def test_job_8_outcome_does_not_change_once_decided() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(2, 2, backoffLimit=0))
        failed, terminating = await cluster.pods()
        await cluster.bind(failed, terminating)
        await cluster.finish(failed, phase="Failed")
        assert condition(await cluster.get(JOBS, "work"), "FailureTarget")["reason"] == "BackoffLimitExceeded"
        await cluster.change(JOBS, "work", {"spec": {"backoffLimit": 9}})
        await cluster.delete(PODS, name_of(terminating), grace=0)
        assert condition(await cluster.get(JOBS, "work"), "Failed")["reason"] == "BackoffLimitExceeded"


async def test_job_9_pods_of_a_finished_job_are_counted_and_surplus_pods_are_not() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(9, 3, activeDeadlineSeconds=50))
        await cluster.bind(*await cluster.pods())
        await cluster.change(JOBS, "work", {"spec": {"parallelism": 1}})
        assert [is_tracked(pod) for pod in await cluster.pods() if not is_active(pod)] == [False, False]
        assert "failed" not in await status(cluster)
        await cluster.pass_time(50)
        assert (await status(cluster))["failed"] == 1


async def test_job_10_job_that_is_being_deleted_only_releases_its_pods() -> None:
    async with workload_cluster("jobs") as cluster:
        owner = await cluster.create(JOBS, "work", job(4, 2), finalizers=[OTHER_FINALIZER])
        pods = await cluster.pods()
        await cluster.bind(*pods)
        await cluster.delete(JOBS, "work", "Background")
        assert [is_tracked(pod) for pod in await cluster.pods()] == [False, False]
        await cluster.delete(PODS, name_of(pods[0]), grace=0)
        assert len(await cluster.pods(owner)) == 1, "a pod was created for a job that is being deleted"
        await cluster.change(JOBS, "work", {"spec": {"parallelism": 0}})
        assert len([pod for pod in await cluster.pods(owner) if is_active(pod)]) == 1, (
            "a pod was deleted for a job that is being deleted"
        )
        assert (await status(cluster))["active"] == 1


async def test_job_11_pod_without_a_controller_is_released() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.pod("orphan", finalizers=[TRACKING, OTHER_FINALIZER])
        assert (await cluster.get(PODS, "orphan"))["metadata"]["finalizers"] == [OTHER_FINALIZER]


async def test_job_11_pod_of_a_finished_job_is_released() -> None:
    async with workload_cluster("jobs") as cluster:
        owner = await cluster.create(JOBS, "work", job())
        await cluster.finish(*await cluster.pods())
        assert condition(await cluster.get(JOBS, "work"), "Complete")
        labels = owner["spec"]["template"]["metadata"]["labels"]
        await cluster.pod("late", labels=labels, ownerReferences=[reference(owner)], finalizers=[TRACKING])
        assert is_tracked(await cluster.get(PODS, "late")), "the pod is not synced before its next event"
        await cluster.delete(PODS, "late")
        assert await cluster.find(PODS, "late") is None
        await cluster.pod("later", labels=labels, ownerReferences=[reference(owner)], finalizers=[TRACKING])
        await cluster.change(JOBS, "work", {"metadata": {"labels": {"touched": "yes"}}})
        assert not is_tracked(await cluster.get(PODS, "later"))


async def test_job_12_pods_of_other_controllers_are_not_released() -> None:
    async with workload_cluster("jobs") as cluster:
        config = await cluster.server.create("configmaps", NAMESPACE, {"metadata": {"name": "a"}})
        await cluster.create(JOBS, "work", job())
        other = await cluster.create(JOBS, "other", job(managedBy="e.com/controller"))
        controller = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": config["metadata"]["uid"]}
        cases = {
            "strange": {**controller, "controller": True},
            "managed": reference(other),
            "loose": {**controller, "controller": False},
        }
        for name, owner in cases.items():
            await cluster.pod(name, ownerReferences=[owner], finalizers=[TRACKING, OTHER_FINALIZER])
            await cluster.delete(PODS, name)
        tracked = {name: is_tracked(await cluster.get(PODS, name)) for name in cases}
        assert tracked == {"strange": True, "managed": True, "loose": False}


async def test_job_12_pod_of_an_active_job_is_left_to_its_job() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(podReplacementPolicy="Failed"))
        [pod] = await cluster.pods()
        await cluster.bind(pod)
        await cluster.delete(PODS, name_of(pod))
        assert is_tracked(await cluster.get(PODS, name_of(pod)))


@pytest.mark.parametrize("is_down", [False, True], ids=["controller up", "controller down"])
@pytest.mark.parametrize("policy", ["Orphan", "Background", "Foreground"])
async def test_job_13_no_pod_keeps_the_finalizer_of_a_deleted_job(policy: str, is_down: bool) -> None:
    async with workload_cluster() as cluster:
        cluster.server._names = ("jobs",)
        async with cluster.server.controlling():
            await cluster.create(JOBS, "work", job(2, 2))
            if not is_down:
                await cluster.delete(JOBS, "work", policy)
        if is_down:
            await cluster.delete(JOBS, "work", policy)
            async with cluster.server.controlling():
                await cluster.settle()
        remaining = await cluster.pods()
        assert len(remaining) == (2 if policy == "Orphan" else 0)
        assert not any(is_tracked(pod) or owners_of(pod) for pod in remaining)
        assert await cluster.find(JOBS, "work") is None


async def test_job_14_job_of_another_controller_is_ignored() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job(managedBy="e.com/controller"))
        assert await cluster.pods() == []
        assert "startTime" not in (await cluster.get(JOBS, "work")).get("status", {})
        await cluster.create(JOBS, "ours", job(managedBy="kubernetes.io/job-controller"))
        assert len(await cluster.pods()) == 1


async def test_job_15_without_a_propagation_policy_pods_are_kept_and_the_client_is_warned() -> None:
    async with workload_cluster("jobs") as cluster:
        await cluster.create(JOBS, "work", job())
        response = await cluster.server.request("DELETE", JOBS.path(NAMESPACE, "work"))
        await cluster.settle()
        assert "the pods of a deleted job are kept" in response.headers["warning"]
        [pod] = await cluster.pods()
        assert (owners_of(pod), is_tracked(pod)) == ([], False)
