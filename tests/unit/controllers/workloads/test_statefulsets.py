"""StatefulSets: pods by number, in order or all at once, from one version to the next; SS-1 to SS-4."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.workloads.owner_kinds import PODS, REVISIONS, STATEFUL_SET
from probate.controllers.workloads.pod_template import is_active, is_ready
from support.workload_cluster import LABELS, Object, Stage, name_of, owners_of, replicas_of, staged, template

SETS = STATEFUL_SET.resource
REVISION = "controller-revision-hash"


def set_of(replicas: int, **spec: Any) -> Object:
    return replicas_of(replicas, serviceName="web", **spec)


def rolling(**details: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": details}


async def names(stage: Stage) -> list[str]:
    return sorted(name_of(pod) for pod in await stage.pods())


async def ready(stage: Stage, *which: str) -> None:
    await stage.run(*[await stage.get(PODS, name) for name in which])


async def serve(stage: Stage) -> None:
    """All pods become ready, one after the other, until nothing changes any more."""
    while waiting := [pod for pod in await stage.pods() if is_active(pod) and not is_ready(pod)]:
        await stage.run(waiting[0])


async def new_image(stage: Stage, image: str, name: str = "web") -> None:
    await stage.change(SETS, name, {"spec": {"template": template(image=image)}}, lists=True)


async def images(stage: Stage) -> dict[str, str]:
    return {name_of(pod): pod["spec"]["containers"][0]["image"] for pod in await stage.pods()}


async def test_pods_come_one_after_the_other_when_the_one_before_serves() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3))
        assert await names(stage) == ["web-0"]
        await ready(stage, "web-0")
        assert await names(stage) == ["web-0", "web-1"]
        await ready(stage, "web-1")
        assert await names(stage) == ["web-0", "web-1", "web-2"]


async def test_pods_come_all_at_once_in_parallel() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3, podManagementPolicy="Parallel"))
        assert await names(stage) == ["web-0", "web-1", "web-2"]


async def test_pod_has_its_name_number_version_and_owner() -> None:
    async with staged("statefulsets") as stage:
        owner = await stage.make(SETS, "web", set_of(1, ordinals={"start": 5}))
        [pod] = await stage.pods()
        [revision] = await stage.all(REVISIONS)
        assert pod["metadata"]["labels"] == {
            **LABELS,
            "statefulset.kubernetes.io/pod-name": "web-5",
            "apps.kubernetes.io/pod-index": "5",
            REVISION: name_of(revision),
        }
        assert (name_of(pod), pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-5", "web-5", "web")
        [reference] = pod["metadata"]["ownerReferences"]
        assert (reference["kind"], reference["uid"]) == ("StatefulSet", owner["metadata"]["uid"])
        assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
        assert owners_of(revision) == [owner["metadata"]["uid"]]


async def test_other_first_number_moves_the_pods() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2, podManagementPolicy="Parallel"))
        await serve(stage)
        await stage.change(SETS, "web", {"spec": {"ordinals": {"start": 1}}})
        assert await names(stage) == ["web-1", "web-2"]


async def test_pods_that_are_too_many_go_from_the_last_one_each_after_the_other() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3))
        await serve(stage)
        await stage.bind(*await stage.pods())
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        going = [name_of(pod) for pod in await stage.pods() if not is_active(pod)]
        assert going == ["web-2"], "one at a time"
        await stage.delete(PODS, "web-2", grace=0)
        assert [name_of(pod) for pod in await stage.pods() if not is_active(pod)] == ["web-1"]
        await stage.delete(PODS, "web-1", grace=0)
        assert await names(stage) == ["web-0"]


async def test_pods_that_are_too_many_go_at_once_in_parallel() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3, podManagementPolicy="Parallel"))
        await stage.bind(*await stage.pods())
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        assert [name_of(pod) for pod in await stage.pods() if not is_active(pod)] == ["web-1", "web-2"]


async def test_no_pod_goes_while_a_wanted_one_does_not_serve() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2))
        await serve(stage)
        await stage.run(await stage.get(PODS, "web-0"), is_ready=False)
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await names(stage) == ["web-0", "web-1"]
        await ready(stage, "web-0")
        assert await names(stage) == ["web-0"]


async def test_pod_too_many_that_does_not_serve_waits_for_one_before_it_that_does_not_either() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3))
        await serve(stage)
        await stage.run(*[await stage.get(PODS, name) for name in ("web-1", "web-2")], is_ready=False)
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await names(stage) == ["web-0", "web-1", "web-2"]
        await ready(stage, "web-1")
        assert await names(stage) == ["web-0"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_ss_3_pod_that_has_ended_is_replaced(phase: str) -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        [first] = await stage.pods()
        await stage.end(first, phase=phase)
        [second] = await stage.pods()
        assert name_of(second) == "web-0"
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_rolling_update_goes_from_the_last_pod_to_the_first_and_waits_for_each() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3))
        await serve(stage)
        old = (await stage.get(SETS, "web"))["status"]["currentRevision"]
        await new_image(stage, "two")
        assert await images(stage) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        status = (await stage.get(SETS, "web"))["status"]
        assert (status["currentRevision"], status["currentReplicas"], status["updatedReplicas"]) == (old, 2, 1)
        await ready(stage, "web-2")
        assert await images(stage) == {"web-0": "one", "web-1": "two", "web-2": "two"}
        await ready(stage, "web-1")
        await ready(stage, "web-0")
        done = (await stage.get(SETS, "web"))["status"]
        assert done["currentRevision"] == done["updateRevision"] != old
        counts = {name: value for name, value in done.items() if name.endswith("eplicas")}
        assert counts == dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"), 3)


async def test_partition_keeps_the_first_pods_in_the_old_version_even_if_they_are_made_anew() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(3, updateStrategy=rolling(partition=2)))
        await serve(stage)
        await new_image(stage, "two")
        await serve(stage)
        assert await images(stage) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        await stage.delete(PODS, "web-1", grace=0)
        await serve(stage)
        assert await images(stage) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        await stage.change(SETS, "web", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
        await serve(stage)
        assert set((await images(stage)).values()) == {"two"}


@pytest.mark.parametrize(("most", "number"), [(1, 1), (2, 2), ("50%", 2), ("10%", 1)])
async def test_so_many_pods_may_be_missing_during_an_update(most: Any, number: int) -> None:
    async with staged("statefulsets") as stage:
        strategy = rolling(maxUnavailable=most)
        await stage.make(SETS, "web", set_of(4, podManagementPolicy="Parallel", updateStrategy=strategy))
        await serve(stage)
        await stage.bind(*await stage.pods())
        await new_image(stage, "two")
        going = [name_of(pod) for pod in await stage.pods() if not is_active(pod)]
        assert going == [f"web-{4 - each}" for each in range(number, 0, -1)]


async def test_version_that_never_serves_is_replaced_in_parallel() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2, podManagementPolicy="Parallel"))
        await serve(stage)
        await new_image(stage, "broken")
        assert await images(stage) == {"web-0": "one", "web-1": "broken"}
        await new_image(stage, "good")
        assert await images(stage) == {"web-0": "one", "web-1": "good"}


async def test_on_delete_changes_a_pod_only_when_somebody_deletes_it() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2, updateStrategy={"type": "OnDelete"}))
        await serve(stage)
        await new_image(stage, "two")
        assert set((await images(stage)).values()) == {"one"}
        await stage.delete(PODS, "web-0", grace=0)
        assert await images(stage) == {"web-0": "two", "web-1": "one"}
        await serve(stage)
        await stage.delete(PODS, "web-1", grace=0)
        await serve(stage)
        status = (await stage.get(SETS, "web"))["status"]
        assert status["updatedReplicas"] == 2
        assert status["currentRevision"] != status["updateRevision"], "as in Kubernetes, which never says that this is over"


async def test_pod_counts_as_available_after_its_time() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2, minReadySeconds=10))
        await ready(stage, "web-0")
        assert (await stage.get(SETS, "web"))["status"]["availableReplicas"] == 0
        assert await names(stage) == ["web-0"]
        await stage.pass_time(10)
        assert (await stage.get(SETS, "web"))["status"]["availableReplicas"] == 1
        assert await names(stage) == ["web-0", "web-1"]


async def test_ss_1_pods_are_adopted_and_released_by_name_and_labels() -> None:
    async with staged("statefulsets") as stage:
        mine = await stage.pod("web-0")
        other = await stage.pod("web-x")
        owner = await stage.make(SETS, "web", set_of(1))
        adopted = await stage.get(PODS, "web-0")
        assert (adopted["metadata"]["uid"], owners_of(adopted)) == (mine["metadata"]["uid"], [owner["metadata"]["uid"]])
        assert adopted["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"
        assert owners_of(await stage.get(PODS, name_of(other))) == []
        await stage.change(PODS, "web-0", {"metadata": {"labels": {"app": "else"}}})
        assert owners_of(await stage.get(PODS, "web-0")) == []


async def test_ss_2_revision_that_nobody_owns_is_adopted() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(0))
        await stage.delete(SETS, "web", "Orphan")
        [left] = await stage.all(REVISIONS)
        assert owners_of(left) == []
        again = await stage.make(SETS, "web", set_of(0))
        [adopted] = await stage.all(REVISIONS)
        assert owners_of(adopted) == [again["metadata"]["uid"]]
        assert adopted["metadata"]["uid"] == left["metadata"]["uid"]


async def test_ss_3_nothing_is_made_while_the_set_is_deleted() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2), finalizers=["test.example/hold"])
        await ready(stage, "web-0")
        await stage.delete(SETS, "web", "Orphan")
        left = await stage.get(SETS, "web")
        assert left["status"]["replicas"] == 0, "its pods were let go"
        await stage.delete(PODS, "web-0", grace=0)
        assert await names(stage) == ["web-1"]


async def test_ss_4_old_revisions_go_beyond_the_limit_unless_a_pod_has_them() -> None:
    async with staged("statefulsets") as stage:
        strategy = {"type": "OnDelete"}
        await stage.make(SETS, "web", set_of(1, revisionHistoryLimit=1, updateStrategy=strategy))
        for image in ("two", "three", "four", "five"):
            await new_image(stage, image)
        left = {one["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for one in await stage.all(REVISIONS)}
        assert left == {"one", "four", "five"}


async def test_going_back_makes_an_old_revision_the_newest() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        await serve(stage)
        [first] = await stage.all(REVISIONS)
        await new_image(stage, "two")
        await serve(stage)
        await stage.change(SETS, "web", first["data"], lists=True)
        await serve(stage)
        revisions = {name_of(one): one["revision"] for one in await stage.all(REVISIONS)}
        assert len(revisions) == 2
        assert revisions[name_of(first)] == 3
        assert (await stage.get(SETS, "web"))["status"]["currentRevision"] == name_of(first)


async def test_hist_1_hist_2_revisions_of_another_set_are_none_of_its_own() -> None:
    """Their labels match, but another controls them: they are neither adopted nor counted nor deleted."""
    async with staged("statefulsets") as stage:
        theirs = await stage.make(SETS, "other", set_of(0))
        await new_image(stage, "two", "other")
        before = [one for one in await stage.all(REVISIONS) if theirs["metadata"]["uid"] in owners_of(one)]
        assert len(before) == 2
        await stage.make(SETS, "web", set_of(0, revisionHistoryLimit=0))
        for image in ("three", "four"):
            await new_image(stage, image)
        assert [one for one in await stage.all(REVISIONS) if theirs["metadata"]["uid"] in owners_of(one)] == before
        assert len(await stage.all(REVISIONS)) == 3


async def test_hist_1_revision_that_does_not_match_is_left_alone() -> None:
    async with staged("statefulsets") as stage:
        stranger = {"metadata": {"name": "stranger", "labels": {"app": "else"}}, "data": {"a": "b"}, "revision": 1}
        await stage.client.create(REVISIONS, "default", stranger)
        await stage.make(SETS, "web", set_of(0))
        assert owners_of(await stage.get(REVISIONS, "stranger")) == []


@pytest.mark.parametrize("is_same", [True, False])
async def test_hist_3_name_that_is_taken_is_not_taken_over(*, is_same: bool) -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(0))
        [one] = await stage.all(REVISIONS)
        await stage.delete(SETS, "web", "Foreground")
        foreign = {"metadata": {"name": name_of(one)}, "data": one["data"] if is_same else {"other": "thing"}, "revision": 1}
        await stage.client.create(REVISIONS, "default", foreign)
        await stage.make(SETS, "web", set_of(1))
        status = (await stage.get(SETS, "web"))["status"]
        assert status["collisionCount"] == 1
        assert status["updateRevision"] != name_of(one)
        assert await names(stage) == ["web-0"]


async def test_events_tell_of_pods() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        await stage.change(SETS, "web", {"spec": {"replicas": 0}})
        assert sorted(await stage.told("web")) == [
            ("SuccessfulCreate", "create Pod web-0 in StatefulSet web successful"),
            ("SuccessfulDelete", "delete Pod web-0 in StatefulSet web successful"),
        ]
