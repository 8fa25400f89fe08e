"""Deployments: rollouts and rollbacks, DEP-1 and DEP-4, and ReplicaSets that are being deleted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from probate.api.objects import Object
from probate.controllers.workloads.owner_kinds import PODS
from probate.controllers.workloads.pod_template import is_active, is_ready
from probate.store.contract import update
from support.workload_cluster import (
    DEPLOYMENTS,
    LABELS,
    REPLICA_SETS,
    WorkloadCluster,
    condition,
    name_of,
    owners_of,
    replicas_of,
    template,
    workload_cluster,
)

CONTROLLERS = ("replicasets", "deployments")
REVISION = "deployment.kubernetes.io/revision"


def rolling(replicas: int, surge: Any = 1, unavailable: Any = 1, **spec: Any) -> Object:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return replicas_of(replicas, strategy=strategy, **spec)


async def new_image(cluster: WorkloadCluster, image: str) -> None:
    await cluster.change(DEPLOYMENTS, "web", {"spec": {"template": template(image=image)}}, lists=True)


async def active(cluster: WorkloadCluster) -> list[Object]:
    return [pod for pod in await cluster.pods() if is_active(pod)]


async def roll_out(cluster: WorkloadCluster) -> None:
    """Marks all pods as ready, one at a time, until nothing changes any more."""
    while waiting := [pod for pod in await active(cluster) if not is_ready(pod)]:
        await cluster.run(waiting[0])


async def sizes(cluster: WorkloadCluster) -> dict[str, int]:
    """Returns the sizes of the ReplicaSets, by the image of their pods."""
    replica_sets = await cluster.all(REPLICA_SETS)
    return {
        replica_set["spec"]["template"]["spec"]["containers"][0]["image"]: replica_set["spec"]["replicas"]
        for replica_set in replica_sets
    }


async def replica_set(cluster: WorkloadCluster, image: str) -> Object:
    replica_sets = await cluster.all(REPLICA_SETS)
    [replica_set_] = [
        replica_set_ for replica_set_ in replica_sets if replica_set_["spec"]["template"]["spec"]["containers"][0]["image"] == image
    ]
    return replica_set_


async def test_new_deployment_creates_a_replica_set_with_its_name_and_template() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        deployment = await cluster.create(DEPLOYMENTS, "web", rolling(3), annotations={"note": "x"})
        [created] = await cluster.all(REPLICA_SETS)
        pod_hash = created["metadata"]["labels"]["pod-template-hash"]
        assert name_of(created) == f"web-{pod_hash}"
        assert created["spec"]["selector"]["matchLabels"] == {**LABELS, "pod-template-hash": pod_hash}
        assert created["spec"]["template"]["metadata"]["labels"] == {**LABELS, "pod-template-hash": pod_hash}
        [reference] = created["metadata"]["ownerReferences"]
        assert (reference["kind"], reference["uid"]) == ("Deployment", deployment["metadata"]["uid"])
        assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
        annotations = created["metadata"]["annotations"]
        assert annotations == {
            "note": "x",
            REVISION: "1",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        }
        assert all(name_of(pod).startswith(f"web-{pod_hash}-") for pod in await cluster.pods(created))
        assert len(await cluster.pods(created)) == 3


async def test_status_has_the_fields_that_kubectl_waits_for() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2))
        started = await cluster.get(DEPLOYMENTS, "web")
        assert started["status"]["unavailableReplicas"] == 2
        assert condition(started, "Available")["reason"] == "MinimumReplicasUnavailable"
        assert condition(started, "Progressing")["status"] == "True"
        await roll_out(cluster)
        complete = await cluster.get(DEPLOYMENTS, "web")
        counts = {name: value for name, value in complete["status"].items() if name.endswith("eplicas")}
        assert counts == {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2, "terminatingReplicas": 0}
        assert complete["status"]["observedGeneration"] == complete["metadata"]["generation"]
        assert (condition(complete, "Available")["status"], condition(complete, "Progressing")["reason"]) == (
            "True",
            "NewReplicaSetAvailable",
        )
        assert complete["metadata"]["annotations"][REVISION] == "1"


@pytest.mark.parametrize(("surge", "unavailable"), [(1, 1), (0, 1), (1, 0), ("50%", "25%"), (4, 4), ("100%", 0)])
async def test_rolling_update_stays_within_its_limits_and_completes(surge: Any, unavailable: Any) -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(4, surge, unavailable))
        await roll_out(cluster)
        max_pods = 4 + (surge if isinstance(surge, int) else {"50%": 2, "100%": 4}[surge])
        min_available = 4 - (unavailable if isinstance(unavailable, int) else 1)
        await new_image(cluster, "two")
        for _ in range(30):
            pods = await active(cluster)
            assert len(pods) <= max_pods
            assert sum(is_ready(pod) for pod in pods) >= min_available
            waiting = [pod for pod in pods if not is_ready(pod)]
            if not waiting:
                break
            await cluster.run(waiting[0])
        assert await sizes(cluster) == {"one": 0, "two": 4}
        assert condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_rolling_update_replaces_unavailable_pods_first() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(4, 0, 1))
        first, second, third, broken = await active(cluster)
        await cluster.run(first, second, third)
        await new_image(cluster, "two")
        assert await sizes(cluster) == {"one": 3, "two": 1}
        assert name_of(broken) not in [name_of(pod) for pod in await cluster.pods()]


async def test_recreate_creates_new_pods_after_the_last_old_pod_has_ended() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", replicas_of(2, strategy={"type": "Recreate"}))
        old = await active(cluster)
        await cluster.bind(*old)
        await cluster.run(*old)
        await new_image(cluster, "two")
        assert await sizes(cluster) == {"one": 0}
        await cluster.delete(PODS, name_of(old[0]), grace=0)
        assert await sizes(cluster) == {"one": 0}, "an old pod still runs"
        await cluster.delete(PODS, name_of(old[1]), grace=0)
        assert await sizes(cluster) == {"one": 0, "two": 2}


async def test_recreate_does_not_wait_for_a_finished_pod_that_still_exists() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", replicas_of(1, strategy={"type": "Recreate"}))
        [old] = await active(cluster)
        await cluster.bind(old)
        await new_image(cluster, "two")
        assert await sizes(cluster) == {"one": 0}
        await cluster.finish(old, phase="Failed")
        assert await sizes(cluster) == {"one": 0, "two": 1}


async def test_rollback_makes_an_old_revision_the_newest() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2))
        await roll_out(cluster)
        first = await replica_set(cluster, "one")
        for number, image in enumerate(["two", "one", "two", "one"], 2):
            await new_image(cluster, image)
            await roll_out(cluster)
            assert (await replica_set(cluster, image))["metadata"]["annotations"][REVISION] == str(number)
            assert (await cluster.get(DEPLOYMENTS, "web"))["metadata"]["annotations"][REVISION] == str(number)
        current = await replica_set(cluster, "one")
        assert current["metadata"]["uid"] == first["metadata"]["uid"], "a second ReplicaSet was created for the template"
        assert current["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1,3"
        assert await sizes(cluster) == {"one": 2, "two": 0}


async def test_paused_deployment_scales_but_does_not_change_versions() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2))
        await roll_out(cluster)
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"paused": True}})
        paused = condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")
        assert (paused["status"], paused["reason"]) == ("Unknown", "DeploymentPaused")
        await new_image(cluster, "two")
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
        assert await sizes(cluster) == {"one": 3}
        deployment = await cluster.get(DEPLOYMENTS, "web")
        assert deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"]
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"paused": None}})
        await roll_out(cluster)
        assert await sizes(cluster) == {"one": 0, "two": 3}
        assert condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_scaling_during_a_rollout_is_proportional() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(10, 3, 2))
        await roll_out(cluster)
        await new_image(cluster, "two")
        assert await sizes(cluster) == {"one": 8, "two": 5}
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 15}})
        assert await sizes(cluster) == {"one": 11, "two": 7}
        desired = [
            replica_set_["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"]
            for replica_set_ in await cluster.all(REPLICA_SETS)
        ]
        assert desired == ["15", "15"]
        await roll_out(cluster)
        assert await sizes(cluster) == {"one": 0, "two": 15}


async def test_scaling_to_zero_and_back() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(3))
        for number in (0, 2):
            await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": number}})
            assert await sizes(cluster) == {"one": number}
            assert len(await active(cluster)) == number


async def test_rollout_works_after_a_client_scaled_the_replica_set_too() -> None:
    async with workload_cluster() as cluster:
        cluster.server._names = CONTROLLERS
        async with cluster.server.controlling():
            await cluster.create(DEPLOYMENTS, "web", rolling(2))
            await roll_out(cluster)
        scaled = await replica_set(cluster, "one")
        await cluster.change(REPLICA_SETS, name_of(scaled), {"spec": {"replicas": 4}})
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
        async with cluster.server.controlling():
            await new_image(cluster, "two")
            await roll_out(cluster)
            assert await sizes(cluster) == {"one": 0, "two": 4}


async def test_rollout_without_progress_exceeds_its_deadline_and_can_recover() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2, progressDeadlineSeconds=60))
        first, second = await active(cluster)
        await cluster.pass_time(50)
        since = condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")["lastTransitionTime"]
        await cluster.run(first)  # progress restarts the deadline
        await cluster.pass_time(59)
        progressing = condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")
        assert (progressing["status"], progressing["lastTransitionTime"]) == ("True", since)
        await cluster.pass_time(2)
        failed = condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")
        assert (failed["status"], failed["reason"]) == ("False", "ProgressDeadlineExceeded")
        await cluster.run(second)
        assert condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_scaling_a_complete_deployment_never_exceeds_the_deadline() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(1, progressDeadlineSeconds=60))
        await roll_out(cluster)
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 2}})
        await cluster.pass_time(500)
        assert condition(await cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_min_ready_seconds_reach_the_replica_set_and_delay_the_rollout() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(1, 1, 0))
        await roll_out(cluster)
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 20}})
        assert (await replica_set(cluster, "one"))["spec"]["minReadySeconds"] == 20
        await cluster.pass_time(21)
        await new_image(cluster, "two")
        await roll_out(cluster)
        assert await sizes(cluster) == {"one": 1, "two": 1}
        await cluster.pass_time(21)
        assert await sizes(cluster) == {"one": 0, "two": 1}


async def test_name_collision_is_counted_and_another_name_is_used() -> None:
    async with workload_cluster("deployments") as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(1))
        [first] = await cluster.all(REPLICA_SETS)
        await cluster.delete(DEPLOYMENTS, "web", "Orphan")
        foreign = {"metadata": {"labels": {"app": "foreign"}}}
        await cluster.delete(REPLICA_SETS, name_of(first))
        other = replicas_of(0, selector={"matchLabels": {"app": "foreign"}}, template=template({"app": "foreign"}))
        await cluster.create(REPLICA_SETS, name_of(first), other, **foreign["metadata"])
        await cluster.create(DEPLOYMENTS, "web", rolling(1))
        assert (await cluster.get(DEPLOYMENTS, "web"))["status"]["collisionCount"] == 1
        names = {name_of(replica_set_) for replica_set_ in await cluster.all(REPLICA_SETS)}
        assert len(names) == 2
        assert owners_of(await cluster.get(REPLICA_SETS, name_of(first))) == []


async def test_deployment_reports_failure_to_create_pods() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        impossible = template()
        impossible["metadata"]["finalizers"] = ["no-finalizer"]
        await cluster.create(DEPLOYMENTS, "web", rolling(1, template=impossible))
        failure = condition(await cluster.get(DEPLOYMENTS, "web"), "ReplicaFailure")
        assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")


async def test_dep_1_replica_sets_are_adopted_and_released_by_selector() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        orphan = await cluster.create(REPLICA_SETS, "old", replicas_of(2, template=template(image="old")), labels=LABELS)
        deployment = await cluster.create(DEPLOYMENTS, "web", rolling(2))
        adopted = await cluster.get(REPLICA_SETS, "old")
        assert owners_of(adopted) == [deployment["metadata"]["uid"]]
        await roll_out(cluster)
        assert await sizes(cluster) == {"old": 0, "one": 2}
        await cluster.change(REPLICA_SETS, name_of(orphan), {"metadata": {"labels": {"app": "other"}}})
        assert owners_of(await cluster.get(REPLICA_SETS, "old")) == []


async def test_dep_1_deployment_that_is_being_deleted_only_updates_its_status() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2), finalizers=["e.com/hold"])
        await cluster.delete(DEPLOYMENTS, "web", "Orphan")
        [orphan] = await cluster.all(REPLICA_SETS)
        assert owners_of(orphan) == [], "it adopted what was orphaned on purpose"
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 5, "template": template(image="two")}}, lists=True)
        assert await sizes(cluster) == {"one": 2}
        deployment = await cluster.get(DEPLOYMENTS, "web")
        assert deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"]


async def test_new_deployment_adopts_what_an_earlier_one_orphaned() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2))
        [first] = await cluster.all(REPLICA_SETS)
        await cluster.delete(DEPLOYMENTS, "web", "Orphan")
        successor = await cluster.create(DEPLOYMENTS, "web", rolling(2))
        [adopted] = await cluster.all(REPLICA_SETS)
        assert (adopted["metadata"]["uid"], owners_of(adopted)) == (first["metadata"]["uid"], [successor["metadata"]["uid"]])


async def test_dep_4_empty_selector_is_rejected_and_never_acted_on() -> None:
    async with workload_cluster("deployments") as cluster:
        response = await cluster.server.request(
            "POST", DEPLOYMENTS.path("default"), {"metadata": {"name": "all"}, "spec": {**rolling(1), "selector": {}}}
        )
        assert response.code == 422
        await cluster.create(DEPLOYMENTS, "web", {**rolling(0), "paused": True})
        key = "objects/deployments.apps/default/web"
        stored_object = await cluster.server.store.read(key)
        assert stored_object is not None
        deployment = orjson.loads(stored_object.value)
        deployment["spec"] |= {"selector": {}, "replicas": 3, "paused": False}
        await cluster.server.store.commit(
            update(key, orjson.dumps(deployment), revision=stored_object.revision)
        )  # which the API would reject
        await cluster.settle()
        assert await cluster.all(REPLICA_SETS) == []
        assert [reason for reason, _ in await cluster.event_messages("web")] == ["SelectingAll"]


async def test_deleting_replica_set_is_counted_unchanged_and_waited_for() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2, 1, 0))
        pods = await active(cluster)
        await cluster.bind(*pods)
        await roll_out(cluster)
        [original] = await cluster.all(REPLICA_SETS)
        await cluster.delete(REPLICA_SETS, name_of(original), "Foreground")
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"replicas": 3}, "metadata": {"annotations": {"note": "new"}}})
        [deleting] = await cluster.all(REPLICA_SETS)
        assert deleting["spec"] == original["spec"], "it was changed although its controller no longer acts on changes"
        assert "note" not in deleting["metadata"]["annotations"]
        status = (await cluster.get(DEPLOYMENTS, "web"))["status"]
        assert (status.get("replicas", 0), status["terminatingReplicas"]) == (0, 2)
        for pod in pods:
            await cluster.delete(PODS, name_of(pod), grace=0)
        [replacement] = await cluster.all(REPLICA_SETS)
        assert (name_of(replacement), replacement["metadata"]["uid"] != original["metadata"]["uid"]) == (name_of(original), True)
        assert len(await active(cluster)) == 3


async def orphan_in_foreground_deletion(cluster: WorkloadCluster) -> tuple[Object, list[Object]]:
    """Returns a ReplicaSet that was orphaned and then deleted in the foreground, and its pods, which still exist."""
    await cluster.create(DEPLOYMENTS, "web", rolling(2, 1, 0))
    pods = await active(cluster)
    await cluster.bind(*pods)
    await roll_out(cluster)
    await cluster.delete(DEPLOYMENTS, "web", "Orphan")
    [orphan] = await cluster.all(REPLICA_SETS)
    await cluster.delete(REPLICA_SETS, name_of(orphan), "Foreground")
    return await cluster.get(REPLICA_SETS, name_of(orphan)), pods


async def test_no_second_replica_set_beside_an_orphan_in_foreground_deletion() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        original, pods = await orphan_in_foreground_deletion(cluster)
        deployment = await cluster.create(DEPLOYMENTS, "web", rolling(3, 1, 0))
        [deleting] = await cluster.all(REPLICA_SETS)
        assert owners_of(deleting) == [deployment["metadata"]["uid"]], "it was not adopted"
        assert deleting["spec"] == original["spec"], "it was changed although its controller no longer acts on changes"
        assert deleting["metadata"].get("annotations") == original["metadata"].get("annotations")
        assert (await cluster.get(DEPLOYMENTS, "web"))["status"]["terminatingReplicas"] == 2, "its pods are not counted"
        for pod in pods:
            assert [replica_set_["metadata"]["uid"] for replica_set_ in await cluster.all(REPLICA_SETS)] == [
                original["metadata"]["uid"]
            ]
            await cluster.delete(PODS, name_of(pod), grace=0)
        [replacement] = await cluster.all(REPLICA_SETS)
        assert replacement["metadata"]["uid"] != original["metadata"]["uid"]
        assert len(await active(cluster)) == 3


async def test_orphan_of_another_template_in_foreground_deletion_is_not_adopted() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        orphan, _ = await orphan_in_foreground_deletion(cluster)
        await cluster.create(DEPLOYMENTS, "web", rolling(2, template=template(image="two")))
        assert owners_of(await cluster.get(REPLICA_SETS, name_of(orphan))) == []
        assert (await sizes(cluster))["two"] == 2


async def test_matching_orphan_held_only_by_a_finalizer_is_not_adopted() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(1))
        await cluster.delete(DEPLOYMENTS, "web", "Orphan")
        [orphan] = await cluster.all(REPLICA_SETS)
        await cluster.change(REPLICA_SETS, name_of(orphan), {"metadata": {"finalizers": ["e.com/hold"]}})
        await cluster.delete(REPLICA_SETS, name_of(orphan), "Background")
        await cluster.create(DEPLOYMENTS, "web", rolling(1))
        assert owners_of(await cluster.get(REPLICA_SETS, name_of(orphan))) == []


async def test_deleting_old_replica_set_counts_towards_max_pods_until_it_is_gone() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(4, 0, 1))
        pods = await active(cluster)
        await cluster.bind(*pods)
        await roll_out(cluster)
        old = await replica_set(cluster, "one")
        await cluster.delete(REPLICA_SETS, name_of(old), "Foreground")
        await new_image(cluster, "two")
        assert await sizes(cluster) == {"one": 4, "two": 0}, "new pods would exceed the maximum while the old ones exist"
        for pod in pods:
            await cluster.delete(PODS, name_of(pod), grace=0)
        assert await sizes(cluster) == {"two": 4}


async def test_foreground_deletion_deletes_pods_before_replica_sets_before_the_deployment() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2))
        pods = await active(cluster)
        await cluster.bind(*pods)
        await cluster.delete(DEPLOYMENTS, "web", "Foreground")
        assert "deletionTimestamp" in (await cluster.get(DEPLOYMENTS, "web"))["metadata"]
        for pod in pods:
            assert await cluster.find(DEPLOYMENTS, "web") is not None
            await cluster.delete(PODS, name_of(pod), grace=0)
        assert [*await cluster.all(DEPLOYMENTS), *await cluster.all(REPLICA_SETS), *await cluster.pods()] == []


async def test_deprecated_rollback_annotation_is_ignored() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(DEPLOYMENTS, "web", rolling(2))
        await roll_out(cluster)
        await new_image(cluster, "two")
        await roll_out(cluster)
        before = await sizes(cluster)
        await cluster.change(DEPLOYMENTS, "web", {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}})
        await roll_out(cluster)
        assert (await sizes(cluster), before["two"]) == (before, 2)
