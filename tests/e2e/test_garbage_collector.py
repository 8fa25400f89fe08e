"""The eleven cases of Kubernetes' end-to-end group "Garbage collector", on a whole cluster: all controllers, three simulated nodes.

Everything is asked through the API, and its answers are all that is looked at. Where Kubernetes' cases wait, the clock goes on: for
as long as a case allows, or as long as it wants something to stay.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.client.objects import Kind
from probate.controllers import manager
from probate.controllers.workloads.owner_kinds import CRON_JOB, PODS
from support.workload_cluster import (
    CONTROLLERS,
    DEPLOYMENTS,
    JOBS,
    LABELS,
    NAMESPACE,
    REPLICA_SETS,
    Object,
    Stage,
    name_of,
    owners_of,
    replicas_of,
    staged,
    template,
)

CRON_JOBS = CRON_JOB.resource
DEFINITIONS = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions")
FOLKS = Kind("example.com", "v1", "folks")
MANY = 20
IS_GONE_IN = 60
STAYS_FOR = 30


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged(*manager.THROUGH_THE_API, nodes=3) as one:
        yield one


def uid_of(object_: Object) -> str:
    uid: str = object_["metadata"]["uid"]
    return uid


async def controller(stage: Stage, number: int, name: str = "rc", labels: dict[str, str] | None = None) -> Object:
    """A ReplicationController whose pods all run."""
    labels = labels or LABELS
    made = await stage.make(CONTROLLERS, name, {"replicas": number, "selector": labels, "template": template(labels)})
    await stage.pass_time(2)
    assert [pod["status"]["phase"] for pod in await stage.pods(made)] == ["Running"] * number
    return made


async def deployment(stage: Stage) -> Object:
    """A Deployment with two pods that run, and their ReplicaSet."""
    made = await stage.make(DEPLOYMENTS, "web", replicas_of(2))
    await stage.pass_time(2)
    [replica_set] = await stage.all(REPLICA_SETS, made)
    assert replica_set["status"]["readyReplicas"] == 2
    return made


async def delete(stage: Stage, kind: Kind, object_: Object, policy: str = "") -> None:
    """Delete this very object, however long that takes then."""
    await stage.delete(kind, name_of(object_), policy, uid=uid_of(object_))


def names(objects: list[Object]) -> list[str]:
    return sorted(map(name_of, objects))


async def test_should_delete_pods_created_by_rc_when_not_orphaning(stage: Stage) -> None:
    rc = await controller(stage, 2)
    await delete(stage, CONTROLLERS, rc, "Background")
    await stage.pass_time(IS_GONE_IN)
    assert await stage.all(CONTROLLERS) == []
    assert await stage.pods() == []


async def test_should_orphan_pods_created_by_rc_if_delete_options_say_so(stage: Stage) -> None:
    rc = await controller(stage, MANY)
    pods = names(await stage.pods())
    await delete(stage, CONTROLLERS, rc, "Orphan")
    assert await stage.all(CONTROLLERS) == []
    await stage.pass_time(STAYS_FOR)
    assert names(await stage.pods()) == pods
    assert len(pods) == MANY


async def test_should_orphan_pods_created_by_rc_if_nothing_says_what_becomes_of_them(stage: Stage) -> None:
    rc = await controller(stage, 2)
    pods = names(await stage.pods())
    await delete(stage, CONTROLLERS, rc)
    assert await stage.all(CONTROLLERS) == []
    await stage.pass_time(STAYS_FOR)
    assert names(await stage.pods()) == pods
    assert len(pods) == 2


async def test_should_delete_rs_created_by_deployment_when_not_orphaning(stage: Stage) -> None:
    await delete(stage, DEPLOYMENTS, await deployment(stage), "Background")
    await stage.pass_time(IS_GONE_IN)
    assert [await stage.all(kind) for kind in (DEPLOYMENTS, REPLICA_SETS, PODS)] == [[], [], []]


async def test_should_orphan_rs_created_by_deployment_when_the_policy_is_orphan(stage: Stage) -> None:
    await delete(stage, DEPLOYMENTS, await deployment(stage), "Orphan")
    assert await stage.all(DEPLOYMENTS) == []
    await stage.pass_time(STAYS_FOR)
    [replica_set] = await stage.all(REPLICA_SETS)
    assert owners_of(replica_set) == []
    assert len(await stage.pods(replica_set)) == 2


async def test_should_keep_the_rc_around_until_all_its_pods_are_deleted_if_the_delete_options_say_so(stage: Stage) -> None:
    rc = await controller(stage, MANY)
    spaces = f"/api/v1/namespaces/{NAMESPACE}"
    watching = stage.cluster.watching
    async with watching(f"{spaces}/pods") as of_pods, watching(f"{spaces}/replicationcontrollers") as of_controllers:
        await delete(stage, CONTROLLERS, rc, "Foreground")
        assert names(await stage.all(CONTROLLERS)) == ["rc"]
        await stage.pass_time(IS_GONE_IN)
    pods_went, [rc_went] = deletions(of_pods), deletions(of_controllers)
    assert len(pods_went) == MANY
    assert rc_went > max(pods_went)


def deletions(events: list[Any]) -> list[int]:
    """The revisions at which objects went."""
    return [int(one["object"]["metadata"]["resourceVersion"]) for one in events if one["type"] == "DELETED"]


async def test_should_not_delete_dependents_that_have_both_valid_owner_and_owner_that_waits_for_them(stage: Stage) -> None:
    leaving = await controller(stage, MANY)
    staying = await controller(stage, 0, "stays", {"app": "other"})
    reference = {"apiVersion": "v1", "kind": "ReplicationController", "name": name_of(staying), "uid": uid_of(staying)}
    shared = [name_of(pod) for pod in (await stage.pods())[: MANY // 2]]
    for name in shared:
        await stage.change(PODS, name, {"metadata": {"ownerReferences": [reference]}}, lists=True)
    assert {len(owners_of(await stage.get(PODS, name))) for name in shared} == {2}
    await delete(stage, CONTROLLERS, leaving, "Foreground")
    await stage.pass_time(IS_GONE_IN)
    assert names(await stage.all(CONTROLLERS)) == ["stays"]
    left = await stage.pods()
    assert names(left) == sorted(shared)
    assert all(owners_of(pod) == [uid_of(staying)] and "deletionTimestamp" not in pod["metadata"] for pod in left)


async def test_should_not_be_blocked_by_dependency_circle(stage: Stage) -> None:
    ring = [await stage.pod(f"pod{number}") for number in (1, 2, 3)]
    for pod, owner in zip(ring, [ring[2], *ring[:2]], strict=True):
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name_of(owner), "uid": uid_of(owner)}
        owned = {**reference, "controller": True, "blockOwnerDeletion": True}
        await stage.change(PODS, name_of(pod), {"metadata": {"ownerReferences": [owned]}})
    await stage.pass_time(2)
    assert len(await stage.pods()) == 3
    await delete(stage, PODS, ring[0], "Foreground")
    await stage.pass_time(IS_GONE_IN)
    assert await stage.pods() == []


async def folks(stage: Stage) -> tuple[Object, Object]:
    """An owner and its dependent, of a custom kind that is in no namespace."""
    names = {"plural": FOLKS.plural, "singular": "folk", "kind": "Folk", "listKind": "FolkList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": FOLKS.version, "served": True, "storage": True, "schema": schema}
    spec = {"group": FOLKS.group, "scope": "Cluster", "names": names, "versions": [version]}
    await stage.client.create(DEFINITIONS, "", {"metadata": {"name": f"{FOLKS.plural}.{FOLKS.group}"}, "spec": spec})
    owner = await folk(stage, "owner")
    reference = {"apiVersion": FOLKS.api_version, "kind": "Folk", "name": "owner", "uid": uid_of(owner)}
    return owner, await folk(stage, "dependent", ownerReferences=[reference])


async def folk(stage: Stage, name: str, **meta: Any) -> Object:
    return await stage.client.create(
        FOLKS, "", {"apiVersion": FOLKS.api_version, "kind": "Folk", "metadata": {"name": name, **meta}}
    )


async def test_should_support_cascading_deletion_of_custom_resources(stage: Stage) -> None:
    owner, _ = await folks(stage)
    canary = await folk(stage, "canary")
    await stage.client.delete(FOLKS, "", "canary", policy="Foreground", uid=uid_of(canary))
    await stage.settle()
    assert names((await stage.client.list(FOLKS)).items) == ["dependent", "owner"]
    await stage.client.delete(FOLKS, "", "owner", policy="Background", uid=uid_of(owner))
    await stage.pass_time(IS_GONE_IN)
    assert (await stage.client.list(FOLKS)).items == []


async def test_should_support_orphan_deletion_of_custom_resources(stage: Stage) -> None:
    owner, _ = await folks(stage)
    await stage.client.delete(FOLKS, "", "owner", policy="Orphan", uid=uid_of(owner))
    await stage.settle()
    assert await stage.client.get(FOLKS, "", "owner") is None
    await stage.pass_time(STAYS_FOR + 60)
    [left] = (await stage.client.list(FOLKS)).items
    assert (name_of(left), owners_of(left)) == ("dependent", [])


async def test_should_delete_jobs_and_pods_created_by_cronjob(stage: Stage) -> None:
    job = {"template": template({"app": "work"}, restartPolicy="OnFailure")}
    made = await stage.make(CRON_JOBS, "often", {"schedule": "*/1 * * * ?", "jobTemplate": {"spec": job}})
    await stage.pass_time(60)
    assert len(await stage.all(JOBS, made)) == 1
    assert len(await stage.pods()) == 1
    await delete(stage, CRON_JOBS, made, "Background")
    await stage.pass_time(IS_GONE_IN)
    assert [await stage.all(kind) for kind in (CRON_JOBS, JOBS, PODS)] == [[], [], []]
