"""Jobs: that each pod is counted once and let go, JOB-1 to JOB-15."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from probate.client.informers import Informer
from probate.client.objects import Client
from probate.controllers.workloads.jobs import finished_pod_tracking
from probate.controllers.workloads.jobs.finished_pod_tracking import Account
from probate.controllers.workloads.jobs.orphan_pods import free
from probate.controllers.workloads.jobs.tally import Tally
from probate.controllers.workloads.owner_kinds import PODS
from probate.controllers.workloads.pod_template import is_active
from probate.core.aio import tasks
from probate.server.local_transport import Local
from support.workload_cluster import JOBS, NAMESPACE, Object, Stage, condition, name_of, owners_of, staged, template

TRACKING = "batch.kubernetes.io/job-tracking"
HOLD = "e.com/hold"


def job(completions: int = 1, parallelism: int = 1, **spec: Any) -> Object:
    return {"parallelism": parallelism, "completions": completions, "template": template(restartPolicy="Never"), **spec}


def is_tracked(pod: Object) -> bool:
    return TRACKING in pod["metadata"].get("finalizers", [])


async def status(stage: Stage) -> Object:
    found: Object = (await stage.get(JOBS, "work"))["status"]
    return found


def reference(owner: Object, **fields: Any) -> Object:
    about = {"apiVersion": "batch/v1", "kind": "Job", "name": name_of(owner), "uid": owner["metadata"]["uid"]}
    return {**about, "controller": True, "blockOwnerDeletion": True, **fields}


async def test_job_1_new_pods_hold_the_finalizer_and_refer_to_the_job() -> None:
    async with staged("jobs") as stage:
        made = template(restartPolicy="Never")
        made["metadata"]["finalizers"] = [HOLD]
        owner = await stage.make(JOBS, "work", job(template=made))
        [pod] = await stage.pods()
        assert (pod["metadata"]["finalizers"], pod["metadata"]["ownerReferences"]) == ([HOLD, TRACKING], [reference(owner)])


async def test_job_1_adopted_pods_get_reference_and_finalizer_and_released_ones_lose_both() -> None:
    async with staged("jobs") as stage:
        await stage.pod("orphan")
        own: Object = {"selector": {"matchLabels": {"app": "web"}}, "manualSelector": True}
        owner = await stage.make(JOBS, "work", job(**own))
        [adopted] = await stage.pods()
        assert (name_of(adopted), owners_of(adopted), is_tracked(adopted)) == ("orphan", [owner["metadata"]["uid"]], True)
        async with stage.cluster.watching(PODS.path(NAMESPACE)) as events:
            await stage.change(PODS, "orphan", {"metadata": {"labels": {"app": "other"}}})
        changed = [event["object"] for event in events if name_of(event["object"]) == "orphan"]
        seen = [(owners_of(one) != [], is_tracked(one)) for one in changed]
        assert seen == [(True, True), (False, False)], "not both at once"


async def test_job_2_finalizer_goes_when_the_pod_has_ended_or_counts_as_failed() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(4, 3))
        one, two, three = await stage.pods()
        await stage.bind(three)
        await stage.end(one)
        await stage.end(two, phase="Failed")
        await stage.delete(PODS, name_of(three))
        assert [is_tracked(await stage.get(PODS, name_of(pod))) for pod in (one, two, three)] == [False, False, False]
        assert ((await status(stage))["succeeded"], (await status(stage))["failed"]) == (1, 2)


@pytest.mark.parametrize("policy", ["TerminatingOrFailed", "Failed"])
async def test_job_2_finalizer_goes_from_all_pods_when_the_job_is_over(policy: str) -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(3, 3, backoffLimit=0, podReplacementPolicy=policy))
        pods = await stage.pods()
        await stage.bind(*pods)
        await stage.end(pods[0], phase="Failed")
        assert [is_tracked(pod) for pod in await stage.pods()] == [False, False, False]


async def test_job_2_last_failed_pod_of_an_index_is_kept_until_it_is_replaced() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(1, 1, completionMode="Indexed", backoffLimitPerIndex=3))
        [first] = await stage.pods()
        await stage.end(first, phase="Failed")
        assert is_tracked(await stage.get(PODS, name_of(first)))
        await stage.pass_time(10)
        assert len(await stage.pods()) == 2
        assert not is_tracked(await stage.get(PODS, name_of(first)))
        assert (await status(stage))["failed"] == 1


@pytest.mark.parametrize(("policy", "counts"), [("TerminatingOrFailed", True), ("Failed", False)])
async def test_job_3_pod_on_its_way_out_counts_as_failed_unless_only_failed_ones_are_replaced(policy: str, counts: bool) -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(podReplacementPolicy=policy))
        [pod] = await stage.pods()
        await stage.bind(pod)
        await stage.delete(PODS, name_of(pod))
        await stage.pass_time(60)
        found = await status(stage)
        assert (found.get("failed", 0), found.get("active", 0), found["terminating"]) == ((1, 1, 1) if counts else (0, 0, 1))
        await stage.end(pod, phase="Failed")
        await stage.pass_time(60)
        assert ((await status(stage))["failed"], (await status(stage))["active"]) == (1, 1)


async def test_job_4_uid_is_written_before_the_finalizer_goes_and_counted_after() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(2, 2))
        pod, _ = await stage.pods()
        async with stage.cluster.watching(JOBS.path(NAMESPACE)) as jobs, stage.cluster.watching(PODS.path(NAMESPACE)) as pods:
            await stage.end(pod)
        changes = {int(event["object"]["metadata"]["resourceVersion"]): event["object"] for event in [*jobs, *pods]}
        steps = []
        for _, one in sorted(changes.items()):
            if name_of(one) == "work":
                steps.append((one["status"].get("succeeded", 0), one["status"]["uncountedTerminatedPods"].get("succeeded")))
            elif name_of(one) == name_of(pod):
                steps.append((one["status"]["phase"], is_tracked(one)))
        uid = pod["metadata"]["uid"]
        assert steps == [("Succeeded", True), (0, [uid]), ("Succeeded", False), (1, None)]


@pytest.mark.parametrize("is_held", [True, False], ids=["before the finalizer went", "after it went"])
async def test_job_4_interrupted_count_goes_on_from_what_is_written(is_held: bool) -> None:
    async with staged() as stage:
        owner = await stage.make(JOBS, "work", job(2, 2))
        held = [TRACKING] if is_held else []
        labels = owner["spec"]["template"]["metadata"]["labels"]
        pod = await stage.pod("done", labels=labels, ownerReferences=[reference(owner)], finalizers=held)
        await stage.end(pod)
        uid = pod["metadata"]["uid"]
        written = {"uncountedTerminatedPods": {"succeeded": [uid]}, "active": 1}
        await stage.change(JOBS, "work", {"status": written}, "status")
        stage.cluster._names = ("jobs",)
        async with stage.cluster.controlling():
            await stage.settle()
            found = await status(stage)
            assert (found["succeeded"], found["active"], found["uncountedTerminatedPods"]) == (1, 1, {})
            assert not is_tracked(await stage.get(PODS, "done"))


@pytest.mark.parametrize(("first", "then"), [("succeeded", "Failed"), ("succeeded", "Running"), ("failed", "Succeeded")])
async def test_pod_whose_phase_changed_after_it_was_listed_was_listed_twice_and_kept_its_finalizer(first: str, then: str) -> None:
    async with staged() as stage:
        owner = await stage.make(JOBS, "work", job(2, 2))
        labels = owner["spec"]["template"]["metadata"]["labels"]
        pod = await stage.pod("done", labels=labels, ownerReferences=[reference(owner)], finalizers=[TRACKING])
        await stage.end(pod, phase=then)
        await stage.change(JOBS, "work", {"status": {"uncountedTerminatedPods": {first: [pod["metadata"]["uid"]]}}}, "status")
        stage.cluster._names = ("jobs",)
        async with stage.cluster.controlling():
            await stage.delete(PODS, "done")
            await stage.settle()
            found = await status(stage)
            assert (found.get(first), found["uncountedTerminatedPods"]) == (1, {})
            assert {"succeeded", "failed"} & set(found) == {first}, "counted twice"
            assert [name_of(pod) for pod in await stage.pods() if name_of(pod) == "done"] == []


async def test_job_4_pod_that_was_counted_and_is_deleted_is_not_counted_again() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(2, 1))
        [pod] = await stage.pods()
        await stage.end(pod)
        await stage.delete(PODS, name_of(pod))
        assert ((await status(stage))["succeeded"], "failed" in await status(stage)) == (1, False)


def test_job_5_at_most_500_pods_are_about_to_be_counted_at_once() -> None:
    pods = [
        {"metadata": {"name": f"p{number}", "uid": f"u{number}", "finalizers": [TRACKING]}, "status": {"phase": "Succeeded"}}
        for number in range(600)
    ]
    account = Account(Tally({"metadata": {"name": "work"}, "spec": {"completions": 600}}, pods))
    ended = account.enter(None)
    assert (len(ended.pods), ended.is_all) == (finished_pod_tracking.MOST, False)
    assert len(account.fields()["uncountedTerminatedPods"]["succeeded"]) == 500
    account.settle({f"u{number}" for number in range(600)} - {pod["metadata"]["uid"] for pod in ended.pods})
    assert (account.fields()["succeeded"], account.is_settled) == (500, True)


async def test_job_5_more_pods_than_fit_in_one_look_are_all_made_and_counted() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(520, 520))
        pods = await stage.pods()
        assert len(pods) == 520
        for pod in pods:
            await stage.client.patch(PODS, NAMESPACE, name_of(pod), {"status": {"phase": "Succeeded"}}, "status")
        await stage.settle()
        assert ((await status(stage))["succeeded"], condition(await stage.get(JOBS, "work"), "Complete")["status"]) == (520, "True")


async def test_job_6_pod_that_is_gone_needs_no_letting_go() -> None:
    async with staged() as stage:
        pod = await stage.pod("gone", finalizers=[TRACKING, HOLD])
        client = Client(Local(stage.cluster.api))
        informer = Informer(client, PODS, stage.cluster.clock)
        await free(informer, pod)
        assert (await stage.get(PODS, "gone"))["metadata"]["finalizers"] == [HOLD], "it took more than its own"
        await stage.change(PODS, "gone", {"metadata": {"finalizers": None}})
        await stage.delete(PODS, "gone")
        await free(informer, pod)


async def test_job_7_pod_that_was_let_go_counts_as_let_go_before_the_server_tells_so() -> None:
    async with staged() as stage:
        pod = await stage.pod("done", finalizers=[TRACKING, HOLD])
        informer = Informer(Client(Local(stage.cluster.api)), PODS, stage.cluster.clock)
        following = asyncio.ensure_future(informer.run())
        await informer.is_synced.wait()
        await tasks.stop(following)  # it will not hear of anything any more
        await free(informer, pod)
        [known] = list(informer)
        assert known["metadata"]["finalizers"] == [HOLD]


async def test_job_8_job_is_over_only_when_no_pod_is_left_on_its_way_out() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(2, 2, activeDeadlineSeconds=50))
        pods = await stage.pods()
        await stage.bind(*pods)
        await stage.pass_time(50)
        decided = await stage.get(JOBS, "work")
        assert condition(decided, "FailureTarget")["reason"] == "DeadlineExceeded"
        assert (condition(decided, "Failed"), decided["status"]["terminating"]) == ({}, 2)
        await stage.delete(PODS, name_of(pods[0]), grace=0)
        assert condition(await stage.get(JOBS, "work"), "Failed") == {}
        await stage.delete(PODS, name_of(pods[1]), grace=0)
        over = await stage.get(JOBS, "work")
        assert (condition(over, "Failed")["reason"], over["status"]["terminating"]) == ("DeadlineExceeded", 0)


async def test_job_8_what_has_been_decided_stays_decided() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(2, 2, backoffLimit=0))
        lost, left = await stage.pods()
        await stage.bind(lost, left)
        await stage.end(lost, phase="Failed")
        assert condition(await stage.get(JOBS, "work"), "FailureTarget")["reason"] == "BackoffLimitExceeded"
        await stage.change(JOBS, "work", {"spec": {"backoffLimit": 9}})
        await stage.delete(PODS, name_of(left), grace=0)
        assert condition(await stage.get(JOBS, "work"), "Failed")["reason"] == "BackoffLimitExceeded"


async def test_job_9_pods_of_a_job_that_ends_are_counted_and_those_that_were_too_many_are_not() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(9, 3, activeDeadlineSeconds=50))
        await stage.bind(*await stage.pods())
        await stage.change(JOBS, "work", {"spec": {"parallelism": 1}})
        assert [is_tracked(pod) for pod in await stage.pods() if not is_active(pod)] == [False, False]
        assert "failed" not in await status(stage)
        await stage.pass_time(50)
        assert (await status(stage))["failed"] == 1


async def test_job_10_job_that_is_being_deleted_only_lets_go_of_its_pods() -> None:
    async with staged("jobs") as stage:
        owner = await stage.make(JOBS, "work", job(4, 2), finalizers=[HOLD])
        pods = await stage.pods()
        await stage.bind(*pods)
        await stage.delete(JOBS, "work", "Background")
        assert [is_tracked(pod) for pod in await stage.pods()] == [False, False]
        await stage.delete(PODS, name_of(pods[0]), grace=0)
        assert len(await stage.pods(owner)) == 1, "a pod was made for a job that goes"
        await stage.change(JOBS, "work", {"spec": {"parallelism": 0}})
        assert len([pod for pod in await stage.pods(owner) if is_active(pod)]) == 1, "a pod was ended for a job that goes"
        assert (await status(stage))["active"] == 1


async def test_job_11_pod_without_a_controller_is_let_go() -> None:
    async with staged("jobs") as stage:
        await stage.pod("orphan", finalizers=[TRACKING, HOLD])
        assert (await stage.get(PODS, "orphan"))["metadata"]["finalizers"] == [HOLD]


async def test_job_11_pod_of_a_job_that_is_over_is_let_go() -> None:
    async with staged("jobs") as stage:
        owner = await stage.make(JOBS, "work", job())
        await stage.end(*await stage.pods())
        assert condition(await stage.get(JOBS, "work"), "Complete")
        labels = owner["spec"]["template"]["metadata"]["labels"]
        await stage.pod("late", labels=labels, ownerReferences=[reference(owner)], finalizers=[TRACKING])
        assert is_tracked(await stage.get(PODS, "late")), "nobody looks before something happens to it"
        await stage.delete(PODS, "late")
        assert await stage.find(PODS, "late") is None
        await stage.pod("later", labels=labels, ownerReferences=[reference(owner)], finalizers=[TRACKING])
        await stage.change(JOBS, "work", {"metadata": {"labels": {"touched": "yes"}}})
        assert not is_tracked(await stage.get(PODS, "later"))


async def test_job_12_pods_of_others_are_not_ours_to_let_go() -> None:
    async with staged("jobs") as stage:
        strange = await stage.cluster.create("configmaps", NAMESPACE, {"metadata": {"name": "a"}})
        await stage.make(JOBS, "work", job())
        other = await stage.make(JOBS, "other", job(managedBy="e.com/controller"))
        about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": strange["metadata"]["uid"]}
        cases = {
            "strange": {**about, "controller": True},
            "managed": reference(other),
            "loose": {**about, "controller": False},
        }
        for name, owner in cases.items():
            await stage.pod(name, ownerReferences=[owner], finalizers=[TRACKING, HOLD])
            await stage.delete(PODS, name)
        kept = {name: is_tracked(await stage.get(PODS, name)) for name in cases}
        assert kept == {"strange": True, "managed": True, "loose": False}


async def test_job_12_pod_whose_job_lives_is_left_to_its_job() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(podReplacementPolicy="Failed"))
        [pod] = await stage.pods()
        await stage.bind(pod)
        await stage.delete(PODS, name_of(pod))
        assert is_tracked(await stage.get(PODS, name_of(pod)))


@pytest.mark.parametrize("is_down", [False, True], ids=["controller up", "controller down"])
@pytest.mark.parametrize("policy", ["Orphan", "Background", "Foreground"])
async def test_job_13_no_pod_is_held_for_a_job_that_was_deleted(policy: str, is_down: bool) -> None:
    async with staged() as stage:
        stage.cluster._names = ("jobs",)
        async with stage.cluster.controlling():
            await stage.make(JOBS, "work", job(2, 2))
            if not is_down:
                await stage.delete(JOBS, "work", policy)
        if is_down:
            await stage.delete(JOBS, "work", policy)
            async with stage.cluster.controlling():
                await stage.settle()
        left = await stage.pods()
        assert len(left) == (2 if policy == "Orphan" else 0)
        assert not any(is_tracked(pod) or owners_of(pod) for pod in left)
        assert await stage.find(JOBS, "work") is None


async def test_job_14_job_of_another_controller_is_ignored() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job(managedBy="e.com/controller"))
        assert await stage.pods() == []
        assert "startTime" not in (await stage.get(JOBS, "work")).get("status", {})
        await stage.make(JOBS, "ours", job(managedBy="kubernetes.io/job-controller"))
        assert len(await stage.pods()) == 1


async def test_job_15_pods_stay_when_nobody_says_what_becomes_of_them_and_the_client_is_warned() -> None:
    async with staged("jobs") as stage:
        await stage.make(JOBS, "work", job())
        told = await stage.cluster.ask("DELETE", JOBS.path(NAMESPACE, "work"))
        await stage.settle()
        assert "the pods of a deleted job are kept" in told.headers["warning"]
        [pod] = await stage.pods()
        assert (owners_of(pod), is_tracked(pod)) == ([], False)
