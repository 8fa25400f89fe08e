"""The eleven cases of Kubernetes' end-to-end group "Garbage collector", on a whole cluster: all controllers, three simulated nodes.

The tests act through the API and check its responses only. Where Kubernetes' cases wait, the virtual clock advances: by as long as
a case allows for a deletion, or requires an object to stay.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.controllers import registry
from probate.controllers.workloads.owner_kinds import CRON_JOB, PODS
from support.workload_cluster import (
    CONTROLLERS,
    DEPLOYMENTS,
    JOBS,
    LABELS,
    NAMESPACE,
    REPLICA_SETS,
    WorkloadCluster,
    name_of,
    owners_of,
    replicas_of,
    template,
    workload_cluster,
)

CRON_JOBS = CRON_JOB.resource
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CUSTOM_RESOURCES = GroupVersionResource("example.com", "v1", "folks")
MANY = 20
GONE_WITHIN = 60
STAYS_FOR = 30


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(*registry.API_CONTROLLERS, nodes=3) as one:
        yield one


def uid_of(object_: Object) -> str:
    uid: str = object_["metadata"]["uid"]
    return uid


async def create_controller(stage: WorkloadCluster, number: int, name: str = "rc", labels: dict[str, str] | None = None) -> Object:
    """Creates a ReplicationController and waits until all of its pods run."""
    labels = labels or LABELS
    created = await stage.create(CONTROLLERS, name, {"replicas": number, "selector": labels, "template": template(labels)})
    await stage.pass_time(2)
    assert [pod["status"]["phase"] for pod in await stage.pods(created)] == ["Running"] * number
    return created


async def create_deployment(stage: WorkloadCluster) -> Object:
    """Creates a Deployment, and waits until its ReplicaSet has two running pods."""
    created = await stage.create(DEPLOYMENTS, "web", replicas_of(2))
    await stage.pass_time(2)
    [replica_set] = await stage.all(REPLICA_SETS, created)
    assert replica_set["status"]["readyReplicas"] == 2
    return created


async def delete(stage: WorkloadCluster, kind: GroupVersionResource, object_: Object, policy: str = "") -> None:
    """Deletes this object (by uid). Does not wait until it is gone."""
    await stage.delete(kind, name_of(object_), policy, uid=uid_of(object_))


def names(objects: list[Object]) -> list[str]:
    return sorted(map(name_of, objects))


async def test_should_delete_pods_created_by_rc_when_not_orphaning(stage: WorkloadCluster) -> None:
    rc = await create_controller(stage, 2)
    await delete(stage, CONTROLLERS, rc, "Background")
    await stage.pass_time(GONE_WITHIN)
    assert await stage.all(CONTROLLERS) == []
    assert await stage.pods() == []


async def test_should_orphan_pods_created_by_rc_if_delete_options_say_so(stage: WorkloadCluster) -> None:
    rc = await create_controller(stage, MANY)
    pods = names(await stage.pods())
    await delete(stage, CONTROLLERS, rc, "Orphan")
    assert await stage.all(CONTROLLERS) == []
    await stage.pass_time(STAYS_FOR)
    assert names(await stage.pods()) == pods
    assert len(pods) == MANY


async def test_should_orphan_pods_created_by_rc_if_delete_options_have_no_policy(stage: WorkloadCluster) -> None:
    rc = await create_controller(stage, 2)
    pods = names(await stage.pods())
    await delete(stage, CONTROLLERS, rc)
    assert await stage.all(CONTROLLERS) == []
    await stage.pass_time(STAYS_FOR)
    assert names(await stage.pods()) == pods
    assert len(pods) == 2


async def test_should_delete_rs_created_by_deployment_when_not_orphaning(stage: WorkloadCluster) -> None:
    await delete(stage, DEPLOYMENTS, await create_deployment(stage), "Background")
    await stage.pass_time(GONE_WITHIN)
    assert [await stage.all(kind) for kind in (DEPLOYMENTS, REPLICA_SETS, PODS)] == [[], [], []]


async def test_should_orphan_rs_created_by_deployment_when_the_policy_is_orphan(stage: WorkloadCluster) -> None:
    await delete(stage, DEPLOYMENTS, await create_deployment(stage), "Orphan")
    assert await stage.all(DEPLOYMENTS) == []
    await stage.pass_time(STAYS_FOR)
    [replica_set] = await stage.all(REPLICA_SETS)
    assert owners_of(replica_set) == []
    assert len(await stage.pods(replica_set)) == 2


async def test_should_keep_the_rc_around_until_all_its_pods_are_deleted_if_the_delete_options_say_so(
    stage: WorkloadCluster,
) -> None:
    rc = await create_controller(stage, MANY)
    spaces = f"/api/v1/namespaces/{NAMESPACE}"
    watching = stage.server.watching
    async with watching(f"{spaces}/pods") as of_pods, watching(f"{spaces}/replicationcontrollers") as of_controllers:
        await delete(stage, CONTROLLERS, rc, "Foreground")
        assert names(await stage.all(CONTROLLERS)) == ["rc"]
        await stage.pass_time(GONE_WITHIN)
    pod_deletions, [controller_deletion] = deletion_revisions(of_pods), deletion_revisions(of_controllers)
    assert len(pod_deletions) == MANY
    assert controller_deletion > max(pod_deletions)


def deletion_revisions(events: list[Any]) -> list[int]:
    """Returns the revisions at which objects were deleted."""
    return [int(one["object"]["metadata"]["resourceVersion"]) for one in events if one["type"] == "DELETED"]


async def test_should_not_delete_dependents_that_have_both_valid_owner_and_owner_that_waits_for_them(
    stage: WorkloadCluster,
) -> None:
    deleted = await create_controller(stage, MANY)
    valid = await create_controller(stage, 0, "stays", {"app": "other"})
    reference = {"apiVersion": "v1", "kind": "ReplicationController", "name": name_of(valid), "uid": uid_of(valid)}
    shared = [name_of(pod) for pod in (await stage.pods())[: MANY // 2]]
    for name in shared:
        await stage.change(PODS, name, {"metadata": {"ownerReferences": [reference]}}, lists=True)
    assert {len(owners_of(await stage.get(PODS, name))) for name in shared} == {2}
    await delete(stage, CONTROLLERS, deleted, "Foreground")
    await stage.pass_time(GONE_WITHIN)
    assert names(await stage.all(CONTROLLERS)) == ["stays"]
    left = await stage.pods()
    assert names(left) == sorted(shared)
    assert all(owners_of(pod) == [uid_of(valid)] and "deletionTimestamp" not in pod["metadata"] for pod in left)


async def test_should_not_be_blocked_by_dependency_circle(stage: WorkloadCluster) -> None:
    ring = [await stage.pod(f"pod{number}") for number in (1, 2, 3)]
    for pod, owner in zip(ring, [ring[2], *ring[:2]], strict=True):
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name_of(owner), "uid": uid_of(owner)}
        owned = {**reference, "controller": True, "blockOwnerDeletion": True}
        await stage.change(PODS, name_of(pod), {"metadata": {"ownerReferences": [owned]}})
    await stage.pass_time(2)
    assert len(await stage.pods()) == 3
    await delete(stage, PODS, ring[0], "Foreground")
    await stage.pass_time(GONE_WITHIN)
    assert await stage.pods() == []


async def create_owner_and_dependent(stage: WorkloadCluster) -> tuple[Object, Object]:
    """Creates an owner and its dependent, of a cluster-scoped custom resource."""
    names = {"plural": CUSTOM_RESOURCES.plural, "singular": "folk", "kind": "Folk", "listKind": "FolkList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": CUSTOM_RESOURCES.version, "served": True, "storage": True, "schema": schema}
    spec = {"group": CUSTOM_RESOURCES.group, "scope": "Cluster", "names": names, "versions": [version]}
    await stage.client.create(CRDS, "", {"metadata": {"name": f"{CUSTOM_RESOURCES.plural}.{CUSTOM_RESOURCES.group}"}, "spec": spec})
    owner = await create_custom_resource(stage, "owner")
    reference = {"apiVersion": CUSTOM_RESOURCES.api_version, "kind": "Folk", "name": "owner", "uid": uid_of(owner)}
    return owner, await create_custom_resource(stage, "dependent", ownerReferences=[reference])


async def create_custom_resource(stage: WorkloadCluster, name: str, **meta: Any) -> Object:
    return await stage.client.create(
        CUSTOM_RESOURCES, "", {"apiVersion": CUSTOM_RESOURCES.api_version, "kind": "Folk", "metadata": {"name": name, **meta}}
    )


async def test_should_support_cascading_deletion_of_custom_resources(stage: WorkloadCluster) -> None:
    owner, _ = await create_owner_and_dependent(stage)
    canary = await create_custom_resource(stage, "canary")
    await stage.client.delete(CUSTOM_RESOURCES, "", "canary", policy="Foreground", uid=uid_of(canary))
    await stage.settle()
    assert names((await stage.client.list(CUSTOM_RESOURCES)).items) == ["dependent", "owner"]
    await stage.client.delete(CUSTOM_RESOURCES, "", "owner", policy="Background", uid=uid_of(owner))
    await stage.pass_time(GONE_WITHIN)
    assert (await stage.client.list(CUSTOM_RESOURCES)).items == []


async def test_should_support_orphan_deletion_of_custom_resources(stage: WorkloadCluster) -> None:
    owner, _ = await create_owner_and_dependent(stage)
    await stage.client.delete(CUSTOM_RESOURCES, "", "owner", policy="Orphan", uid=uid_of(owner))
    await stage.settle()
    assert await stage.client.get(CUSTOM_RESOURCES, "", "owner") is None
    await stage.pass_time(STAYS_FOR + 60)
    [left] = (await stage.client.list(CUSTOM_RESOURCES)).items
    assert (name_of(left), owners_of(left)) == ("dependent", [])


async def test_should_delete_jobs_and_pods_created_by_cronjob(stage: WorkloadCluster) -> None:
    job = {"template": template({"app": "work"}, restartPolicy="OnFailure")}
    created = await stage.create(CRON_JOBS, "often", {"schedule": "*/1 * * * ?", "jobTemplate": {"spec": job}})
    await stage.pass_time(60)
    assert len(await stage.all(JOBS, created)) == 1
    assert len(await stage.pods()) == 1
    await delete(stage, CRON_JOBS, created, "Background")
    await stage.pass_time(GONE_WITHIN)
    assert [await stage.all(kind) for kind in (CRON_JOBS, JOBS, PODS)] == [[], [], []]
