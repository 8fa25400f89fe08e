"""StatefulSets: pods by ordinal, in order or in parallel, and updates between revisions; SS-1 to SS-4."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.workloads.owner_kinds import PODS, REVISIONS, STATEFUL_SET
from probate.controllers.workloads.pod_template import is_active, is_ready
from support.workload_cluster import LABELS, WorkloadCluster, name_of, owners_of, replicas_of, template, workload_cluster

SETS = STATEFUL_SET.resource
REVISION_LABEL = "controller-revision-hash"


def set_of(replicas: int, **spec: Any) -> Object:
    return replicas_of(replicas, serviceName="web", **spec)


def rolling(**details: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": details}


async def names(cluster: WorkloadCluster) -> list[str]:
    return sorted(name_of(pod) for pod in await cluster.pods())


async def mark_ready(cluster: WorkloadCluster, *pod_names: str) -> None:
    await cluster.run(*[await cluster.get(PODS, name) for name in pod_names])


async def make_all_ready(cluster: WorkloadCluster) -> None:
    """Marks all pods as ready, one at a time, until nothing changes any more."""
    while waiting := [pod for pod in await cluster.pods() if is_active(pod) and not is_ready(pod)]:
        await cluster.run(waiting[0])


async def new_image(cluster: WorkloadCluster, image: str, name: str = "web") -> None:
    await cluster.change(SETS, name, {"spec": {"template": template(image=image)}}, lists=True)


async def images(cluster: WorkloadCluster) -> dict[str, str]:
    return {name_of(pod): pod["spec"]["containers"][0]["image"] for pod in await cluster.pods()}


async def test_ordered_pods_are_created_one_at_a_time_when_the_previous_is_ready() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3))
        assert await names(cluster) == ["web-0"]
        await mark_ready(cluster, "web-0")
        assert await names(cluster) == ["web-0", "web-1"]
        await mark_ready(cluster, "web-1")
        assert await names(cluster) == ["web-0", "web-1", "web-2"]


async def test_parallel_pods_are_created_all_at_once() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3, podManagementPolicy="Parallel"))
        assert await names(cluster) == ["web-0", "web-1", "web-2"]


async def test_pod_has_its_name_ordinal_revision_and_owner() -> None:
    async with workload_cluster("statefulsets") as cluster:
        owner = await cluster.create(SETS, "web", set_of(1, ordinals={"start": 5}))
        [pod] = await cluster.pods()
        [revision] = await cluster.all(REVISIONS)
        assert pod["metadata"]["labels"] == {
            **LABELS,
            "statefulset.kubernetes.io/pod-name": "web-5",
            "apps.kubernetes.io/pod-index": "5",
            REVISION_LABEL: name_of(revision),
        }
        assert (name_of(pod), pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-5", "web-5", "web")
        [reference] = pod["metadata"]["ownerReferences"]
        assert (reference["kind"], reference["uid"]) == ("StatefulSet", owner["metadata"]["uid"])
        assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
        assert owners_of(revision) == [owner["metadata"]["uid"]]


async def test_changing_the_first_ordinal_moves_the_pods() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2, podManagementPolicy="Parallel"))
        await make_all_ready(cluster)
        await cluster.change(SETS, "web", {"spec": {"ordinals": {"start": 1}}})
        assert await names(cluster) == ["web-1", "web-2"]


async def test_ordered_scale_down_deletes_one_pod_at_a_time_from_the_last() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3))
        await make_all_ready(cluster)
        await cluster.bind(*await cluster.pods())
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        terminating = [name_of(pod) for pod in await cluster.pods() if not is_active(pod)]
        assert terminating == ["web-2"], "one at a time"
        await cluster.delete(PODS, "web-2", grace=0)
        assert [name_of(pod) for pod in await cluster.pods() if not is_active(pod)] == ["web-1"]
        await cluster.delete(PODS, "web-1", grace=0)
        assert await names(cluster) == ["web-0"]


async def test_parallel_scale_down_deletes_all_surplus_pods_at_once() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3, podManagementPolicy="Parallel"))
        await cluster.bind(*await cluster.pods())
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        assert [name_of(pod) for pod in await cluster.pods() if not is_active(pod)] == ["web-1", "web-2"]


async def test_ordered_scale_down_waits_while_a_desired_pod_is_not_ready() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2))
        await make_all_ready(cluster)
        await cluster.run(await cluster.get(PODS, "web-0"), is_ready=False)
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await names(cluster) == ["web-0", "web-1"]
        await mark_ready(cluster, "web-0")
        assert await names(cluster) == ["web-0"]


async def test_unready_surplus_pod_waits_for_an_unready_pod_before_it() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3))
        await make_all_ready(cluster)
        await cluster.run(*[await cluster.get(PODS, name) for name in ("web-1", "web-2")], is_ready=False)
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await names(cluster) == ["web-0", "web-1", "web-2"]
        await mark_ready(cluster, "web-1")
        assert await names(cluster) == ["web-0"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_ss_3_finished_pod_is_replaced(phase: str) -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        [first] = await cluster.pods()
        await cluster.finish(first, phase=phase)
        [second] = await cluster.pods()
        assert name_of(second) == "web-0"
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_rolling_update_replaces_pods_from_last_to_first_and_waits_for_each() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3))
        await make_all_ready(cluster)
        old_revision = (await cluster.get(SETS, "web"))["status"]["currentRevision"]
        await new_image(cluster, "two")
        assert await images(cluster) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        status = (await cluster.get(SETS, "web"))["status"]
        assert (status["currentRevision"], status["currentReplicas"], status["updatedReplicas"]) == (old_revision, 2, 1)
        await mark_ready(cluster, "web-2")
        assert await images(cluster) == {"web-0": "one", "web-1": "two", "web-2": "two"}
        await mark_ready(cluster, "web-1")
        await mark_ready(cluster, "web-0")
        complete = (await cluster.get(SETS, "web"))["status"]
        assert complete["currentRevision"] == complete["updateRevision"] != old_revision
        counts = {name: value for name, value in complete.items() if name.endswith("eplicas")}
        assert counts == dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"), 3)


async def test_partition_keeps_the_first_pods_in_the_old_revision_even_when_recreated() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(3, updateStrategy=rolling(partition=2)))
        await make_all_ready(cluster)
        await new_image(cluster, "two")
        await make_all_ready(cluster)
        assert await images(cluster) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        await cluster.delete(PODS, "web-1", grace=0)
        await make_all_ready(cluster)
        assert await images(cluster) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        await cluster.change(SETS, "web", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
        await make_all_ready(cluster)
        assert set((await images(cluster)).values()) == {"two"}


@pytest.mark.parametrize(("max_unavailable", "number"), [(1, 1), (2, 2), ("50%", 2), ("10%", 1)])
async def test_max_unavailable_during_an_update(max_unavailable: Any, number: int) -> None:
    async with workload_cluster("statefulsets") as cluster:
        strategy = rolling(maxUnavailable=max_unavailable)
        await cluster.create(SETS, "web", set_of(4, podManagementPolicy="Parallel", updateStrategy=strategy))
        await make_all_ready(cluster)
        await cluster.bind(*await cluster.pods())
        await new_image(cluster, "two")
        terminating = [name_of(pod) for pod in await cluster.pods() if not is_active(pod)]
        assert terminating == [f"web-{4 - offset}" for offset in range(number, 0, -1)]


async def test_revision_that_never_becomes_ready_is_replaced_in_parallel() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2, podManagementPolicy="Parallel"))
        await make_all_ready(cluster)
        await new_image(cluster, "broken")
        assert await images(cluster) == {"web-0": "one", "web-1": "broken"}
        await new_image(cluster, "good")
        assert await images(cluster) == {"web-0": "one", "web-1": "good"}


async def test_on_delete_updates_a_pod_only_when_a_client_deletes_it() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2, updateStrategy={"type": "OnDelete"}))
        await make_all_ready(cluster)
        await new_image(cluster, "two")
        assert set((await images(cluster)).values()) == {"one"}
        await cluster.delete(PODS, "web-0", grace=0)
        assert await images(cluster) == {"web-0": "two", "web-1": "one"}
        await make_all_ready(cluster)
        await cluster.delete(PODS, "web-1", grace=0)
        await make_all_ready(cluster)
        status = (await cluster.get(SETS, "web"))["status"]
        assert status["updatedReplicas"] == 2
        assert status["currentRevision"] != status["updateRevision"], "as in Kubernetes, OnDelete never completes the update"


async def test_pod_is_available_after_min_ready_seconds() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2, minReadySeconds=10))
        await mark_ready(cluster, "web-0")
        assert (await cluster.get(SETS, "web"))["status"]["availableReplicas"] == 0
        assert await names(cluster) == ["web-0"]
        await cluster.pass_time(10)
        assert (await cluster.get(SETS, "web"))["status"]["availableReplicas"] == 1
        assert await names(cluster) == ["web-0", "web-1"]


async def test_ss_1_pods_are_adopted_and_released_by_name_and_labels() -> None:
    async with workload_cluster("statefulsets") as cluster:
        orphan = await cluster.pod("web-0")
        other = await cluster.pod("web-x")
        owner = await cluster.create(SETS, "web", set_of(1))
        adopted = await cluster.get(PODS, "web-0")
        assert (adopted["metadata"]["uid"], owners_of(adopted)) == (orphan["metadata"]["uid"], [owner["metadata"]["uid"]])
        assert adopted["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"
        assert owners_of(await cluster.get(PODS, name_of(other))) == []
        await cluster.change(PODS, "web-0", {"metadata": {"labels": {"app": "else"}}})
        assert owners_of(await cluster.get(PODS, "web-0")) == []


async def test_ss_2_orphan_revision_is_adopted() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(0))
        await cluster.delete(SETS, "web", "Orphan")
        [orphan] = await cluster.all(REVISIONS)
        assert owners_of(orphan) == []
        successor = await cluster.create(SETS, "web", set_of(0))
        [adopted] = await cluster.all(REVISIONS)
        assert owners_of(adopted) == [successor["metadata"]["uid"]]
        assert adopted["metadata"]["uid"] == orphan["metadata"]["uid"]


async def test_ss_3_nothing_is_created_while_the_set_is_being_deleted() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2), finalizers=["test.example/hold"])
        await mark_ready(cluster, "web-0")
        await cluster.delete(SETS, "web", "Orphan")
        deleting = await cluster.get(SETS, "web")
        assert deleting["status"]["replicas"] == 0, "its pods were orphaned"
        await cluster.delete(PODS, "web-0", grace=0)
        assert await names(cluster) == ["web-1"]


async def test_ss_4_old_revisions_are_deleted_beyond_the_limit_unless_a_pod_uses_them() -> None:
    async with workload_cluster("statefulsets") as cluster:
        strategy = {"type": "OnDelete"}
        await cluster.create(SETS, "web", set_of(1, revisionHistoryLimit=1, updateStrategy=strategy))
        for image in ("two", "three", "four", "five"):
            await new_image(cluster, image)
        remaining = {
            revision["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for revision in await cluster.all(REVISIONS)
        }
        assert remaining == {"one", "four", "five"}


async def test_rollback_makes_an_old_revision_the_newest() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        await make_all_ready(cluster)
        [first] = await cluster.all(REVISIONS)
        await new_image(cluster, "two")
        await make_all_ready(cluster)
        await cluster.change(SETS, "web", first["data"], lists=True)
        await make_all_ready(cluster)
        revisions = {name_of(revision): revision["revision"] for revision in await cluster.all(REVISIONS)}
        assert len(revisions) == 2
        assert revisions[name_of(first)] == 3
        assert (await cluster.get(SETS, "web"))["status"]["currentRevision"] == name_of(first)


async def test_hist_1_hist_2_revisions_of_another_set_are_ignored() -> None:
    """Their labels match, but another set controls them: they are neither adopted nor counted nor deleted."""
    async with workload_cluster("statefulsets") as cluster:
        other = await cluster.create(SETS, "other", set_of(0))
        await new_image(cluster, "two", "other")
        before = [revision for revision in await cluster.all(REVISIONS) if other["metadata"]["uid"] in owners_of(revision)]
        assert len(before) == 2
        await cluster.create(SETS, "web", set_of(0, revisionHistoryLimit=0))
        for image in ("three", "four"):
            await new_image(cluster, image)
        assert [revision for revision in await cluster.all(REVISIONS) if other["metadata"]["uid"] in owners_of(revision)] == before
        assert len(await cluster.all(REVISIONS)) == 3


async def test_hist_1_unmatched_revision_is_ignored() -> None:
    async with workload_cluster("statefulsets") as cluster:
        stranger = {"metadata": {"name": "stranger", "labels": {"app": "else"}}, "data": {"a": "b"}, "revision": 1}
        await cluster.client.create(REVISIONS, "default", stranger)
        await cluster.create(SETS, "web", set_of(0))
        assert owners_of(await cluster.get(REVISIONS, "stranger")) == []


@pytest.mark.parametrize("is_same", [True, False])
async def test_hist_3_revision_name_collision_is_counted(*, is_same: bool) -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(0))
        [revision] = await cluster.all(REVISIONS)
        await cluster.delete(SETS, "web", "Foreground")
        foreign = {
            "metadata": {"name": name_of(revision)},
            "data": revision["data"] if is_same else {"other": "thing"},
            "revision": 1,
        }
        await cluster.client.create(REVISIONS, "default", foreign)
        await cluster.create(SETS, "web", set_of(1))
        status = (await cluster.get(SETS, "web"))["status"]
        assert status["collisionCount"] == 1
        assert status["updateRevision"] != name_of(revision)
        assert await names(cluster) == ["web-0"]


async def test_events_about_pods() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        await cluster.change(SETS, "web", {"spec": {"replicas": 0}})
        assert sorted(await cluster.event_messages("web")) == [
            ("SuccessfulCreate", "create Pod web-0 in StatefulSet web successful"),
            ("SuccessfulDelete", "delete Pod web-0 in StatefulSet web successful"),
        ]
