"""Adoption and release by the rules REF-1 to REF-8. ReplicaSets stand for all owners; the rules of Jobs are tested with Jobs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from probate.client.informers import Informer
from probate.client.objects import Client
from probate.controllers.workloads.adoption import ClaimAction, ControllerRefManager, claim_action
from probate.controllers.workloads.owner_kinds import PODS, REPLICA_SET
from probate.core.aio import tasks
from probate.server.local_transport import LocalTransport
from support.workload_cluster import (
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

OTHER_LABELS = {"app": "other"}


def reference(owner: Any, **fields: Any) -> dict[str, Any]:
    fields_ = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name_of(owner), "uid": owner["metadata"]["uid"]}
    return {**fields_, "controller": True, "blockOwnerDeletion": True, **fields}


async def test_ref_1_pod_of_another_controller_is_ignored() -> None:
    async with workload_cluster("replicasets") as cluster:
        other = await cluster.create(REPLICA_SETS, "other", replicas_of(0))
        config = await cluster.server.create("configmaps", NAMESPACE, {"metadata": {"name": "a"}})
        foreign_reference = reference(other, apiVersion="v1", kind="ConfigMap", name="a", uid=config["metadata"]["uid"])
        await cluster.pod("controlled", ownerReferences=[foreign_reference])
        owner = await cluster.create(REPLICA_SETS, "ours", replicas_of(1))
        assert len(await cluster.pods(owner)) == 1
        assert owners_of(await cluster.get(PODS, "controlled")) == [config["metadata"]["uid"]]


async def test_ref_2_matching_pod_stays_owned_while_its_owner_is_being_deleted() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(2), finalizers=["e.com/hold"])
        await cluster.delete(REPLICA_SETS, "web", "Background")
        assert len(await cluster.pods(owner)) == 2
        assert (await cluster.get(REPLICA_SETS, "web"))["status"]["replicas"] == 2


async def test_ref_3_pod_that_no_longer_matches_is_released_and_replaced() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        [pod] = await cluster.pods(owner)
        await cluster.change(PODS, name_of(pod), {"metadata": {"labels": OTHER_LABELS}})
        assert owners_of(await cluster.get(PODS, name_of(pod))) == []
        assert len(await cluster.pods(owner)) == 1


async def test_ref_3_owner_that_is_being_deleted_releases_no_pod() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1), finalizers=["e.com/hold"])
        [pod] = await cluster.pods(owner)
        await cluster.delete(REPLICA_SETS, "web", "Background")
        await cluster.change(PODS, name_of(pod), {"metadata": {"labels": OTHER_LABELS}})
        assert owners_of(await cluster.get(PODS, name_of(pod))) == [owner["metadata"]["uid"]]


async def test_ref_4_orphan_that_matches_is_adopted() -> None:
    async with workload_cluster("replicasets") as cluster:
        await cluster.pod("orphan")
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        [adopted] = await cluster.pods()
        assert (name_of(adopted), adopted["metadata"]["ownerReferences"]) == ("orphan", [reference(owner)])


async def test_ref_4_orphan_of_another_namespace_is_not_adopted() -> None:
    async with workload_cluster("replicasets") as cluster:
        await cluster.client.create(PODS, "kube-public", {**template(), "metadata": {"name": "far", "labels": LABELS}})
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        far = await cluster.client.get(PODS, "kube-public", "far")
        assert far is not None
        assert owners_of(far) == []
        assert len(await cluster.pods(owner)) == 1


@pytest.mark.parametrize(("is_owner_deleting", "is_dependent_deleting"), [(True, False), (False, True)])
def test_ref_4_no_adoption_if_owner_or_dependent_is_being_deleted(is_owner_deleting: bool, is_dependent_deleting: bool) -> None:
    def new_object(name: str, *, is_deleting: bool) -> dict[str, Any]:
        deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_deleting else {}
        return {"metadata": {"name": name, "namespace": NAMESPACE, "uid": name, **deletion}}

    owner, dependent = (
        new_object("owner", is_deleting=is_owner_deleting),
        new_object("dependent", is_deleting=is_dependent_deleting),
    )
    assert claim_action(owner, dependent, is_match=True) is ClaimAction.IGNORE
    assert (
        claim_action(new_object("owner", is_deleting=False), new_object("dependent", is_deleting=False), is_match=True)
        is ClaimAction.ADOPT
    )


def test_ref_1_and_ref_4_hold_for_every_candidate() -> None:
    def new_object(name: str, namespace: str = NAMESPACE, controller: str = "") -> dict[str, Any]:
        references = [{"kind": "ReplicaSet", "uid": controller, "controller": True}] if controller else []
        return {"metadata": {"name": name, "namespace": namespace, "uid": name, "ownerReferences": references}}

    owner = new_object("owner")
    assert claim_action(owner, new_object("far", "elsewhere"), is_match=True) is ClaimAction.IGNORE
    assert claim_action(owner, new_object("theirs", controller="another"), is_match=True) is ClaimAction.IGNORE
    assert claim_action(owner, new_object("theirs", controller="another"), is_match=False) is ClaimAction.IGNORE


async def claim(cluster: WorkloadCluster, owner: Any, pod: Any) -> tuple[list[Any], list[Any]]:
    """Claims the pod for the owner, with both in the state that a controller knew at some time."""
    client = Client(LocalTransport(cluster.server.api))
    ref_manager = ControllerRefManager(REPLICA_SET, client, Informer(client, PODS, cluster.server.clock))
    try:
        return await ref_manager.claim(owner, [pod], lambda candidate: (candidate["metadata"].get("labels") or {}) == LABELS), []
    except ExceptionGroup as group:
        return [], list(group.exceptions)


async def test_ref_5_owner_adopts_nothing_after_its_deletion_even_if_the_cache_is_stale() -> None:
    async with workload_cluster() as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        await cluster.delete(REPLICA_SETS, "web")
        successor = await cluster.create(REPLICA_SETS, "web", replicas_of(1), finalizers=["e.com/hold"])
        pod = await cluster.pod("orphan")
        assert (await claim(cluster, owner, pod))[0] == []  # deleted and replaced by another owner of its name
        await cluster.delete(REPLICA_SETS, "web")
        claimed, failures = await claim(cluster, successor, pod)  # being deleted
        assert (claimed, len(failures)) == ([], 1)
        assert owners_of(await cluster.get(PODS, "orphan")) == []


async def test_ref_6_adoption_never_changes_another_pod_of_the_same_name() -> None:
    async with workload_cluster() as cluster:
        owner, pod = await cluster.create(REPLICA_SETS, "web", replicas_of(1)), await cluster.pod("orphan")
        await cluster.delete(PODS, "orphan")
        assert await claim(cluster, owner, pod) == ([], [])  # it was deleted: nothing to do
        await cluster.pod("orphan")
        claimed, failures = await claim(cluster, owner, pod)
        assert (claimed, len(failures)) == ([], 1)
        assert owners_of(await cluster.get(PODS, "orphan")) == []


async def test_ref_6_only_one_of_two_matching_owners_adopts_a_pod() -> None:
    async with workload_cluster("replicasets") as cluster:
        await cluster.pod("orphan")
        first = await cluster.create(REPLICA_SETS, "one", replicas_of(1))
        second = await cluster.create(REPLICA_SETS, "two", replicas_of(1))
        assert owners_of(await cluster.get(PODS, "orphan")) == [first["metadata"]["uid"]]
        assert [len(await cluster.pods(owner)) for owner in (first, second)] == [1, 1]


async def test_ref_7_release_of_a_deleted_or_replaced_pod_is_not_an_error() -> None:
    async with workload_cluster() as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        pod = await cluster.pod("ours", labels=OTHER_LABELS, ownerReferences=[reference(owner)])
        await cluster.delete(PODS, "ours")
        assert await claim(cluster, owner, pod) == ([], [])
        replacement = await cluster.pod("ours", labels=OTHER_LABELS, ownerReferences=[reference(owner)])
        assert await claim(cluster, owner, pod) == ([], [])
        assert owners_of(await cluster.get(PODS, "ours")) == owners_of(replacement)


async def test_ref_7_release_leaves_other_owners_in_place() -> None:
    async with workload_cluster("replicasets") as cluster:
        owner = await cluster.create(REPLICA_SETS, "web", replicas_of(1))
        other = await cluster.create(
            REPLICA_SETS, "other", replicas_of(0, selector={"matchLabels": OTHER_LABELS}, template=template(OTHER_LABELS))
        )
        [pod] = await cluster.pods(owner)
        references = [reference(owner), reference(other, controller=False)]
        await cluster.change(PODS, name_of(pod), {"metadata": {"labels": {"app": "none"}, "ownerReferences": references}})
        assert owners_of(await cluster.get(PODS, name_of(pod))) == [other["metadata"]["uid"]]


async def test_ref_8_candidates_are_owned_pods_and_pods_without_a_controller() -> None:
    async with workload_cluster() as cluster:
        owner, other = [await cluster.create(REPLICA_SETS, name, replicas_of(0)) for name in ("web", "other")]
        for name, references in {"mine": [reference(owner)], "theirs": [reference(other)], "free": []}.items():
            await cluster.pod(name, ownerReferences=references)
        client = Client(LocalTransport(cluster.server.api))
        pods = Informer(client, PODS, cluster.server.clock)
        informer_task = asyncio.ensure_future(pods.run())
        await pods.is_synced.wait()
        assert {name_of(pod) for pod in ControllerRefManager(REPLICA_SET, client, pods).candidates(owner)} == {"mine", "free"}
        await tasks.stop(informer_task)
