"""Adoption and release, by the rules REF-1 to REF-8. ReplicaSets stand for all owners; what is particular to Jobs is with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from probate.client.informers import Informer
from probate.client.objects import Client
from probate.controllers.workloads.adoption import Claims, Verdict, judge
from probate.controllers.workloads.owner_kinds import PODS, REPLICA_SET
from probate.core.aio import tasks
from probate.server.local_transport import Local
from support.workload_cluster import LABELS, NAMESPACE, REPLICA_SETS, Stage, name_of, owners_of, replicas_of, staged, template

OTHERS = {"app": "other"}


def reference(owner: Any, **fields: Any) -> dict[str, Any]:
    about = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name_of(owner), "uid": owner["metadata"]["uid"]}
    return {**about, "controller": True, "blockOwnerDeletion": True, **fields}


async def test_ref_1_pod_of_another_controller_is_left_alone() -> None:
    async with staged("replicasets") as stage:
        other = await stage.make(REPLICA_SETS, "other", replicas_of(0))
        config = await stage.cluster.create("configmaps", NAMESPACE, {"metadata": {"name": "a"}})
        strange = reference(other, apiVersion="v1", kind="ConfigMap", name="a", uid=config["metadata"]["uid"])
        await stage.pod("taken", ownerReferences=[strange])
        ours = await stage.make(REPLICA_SETS, "ours", replicas_of(1))
        assert len(await stage.pods(ours)) == 1
        assert owners_of(await stage.get(PODS, "taken")) == [config["metadata"]["uid"]]


async def test_ref_2_matching_pod_stays_ours_while_its_owner_is_being_deleted() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(2), finalizers=["e.com/hold"])
        await stage.delete(REPLICA_SETS, "web", "Background")
        assert len(await stage.pods(owner)) == 2
        assert (await stage.get(REPLICA_SETS, "web"))["status"]["replicas"] == 2


async def test_ref_3_pod_that_matches_no_more_is_released_and_replaced() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        [pod] = await stage.pods(owner)
        await stage.change(PODS, name_of(pod), {"metadata": {"labels": OTHERS}})
        assert owners_of(await stage.get(PODS, name_of(pod))) == []
        assert len(await stage.pods(owner)) == 1


async def test_ref_3_owner_that_is_being_deleted_releases_nobody() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1), finalizers=["e.com/hold"])
        [pod] = await stage.pods(owner)
        await stage.delete(REPLICA_SETS, "web", "Background")
        await stage.change(PODS, name_of(pod), {"metadata": {"labels": OTHERS}})
        assert owners_of(await stage.get(PODS, name_of(pod))) == [owner["metadata"]["uid"]]


async def test_ref_4_orphan_that_matches_is_adopted() -> None:
    async with staged("replicasets") as stage:
        await stage.pod("orphan")
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        [adopted] = await stage.pods()
        assert (name_of(adopted), adopted["metadata"]["ownerReferences"]) == ("orphan", [reference(owner)])


async def test_ref_4_orphan_of_another_namespace_is_not_adopted() -> None:
    async with staged("replicasets") as stage:
        await stage.client.create(PODS, "kube-public", {**template(), "metadata": {"name": "far", "labels": LABELS}})
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        far = await stage.client.get(PODS, "kube-public", "far")
        assert far is not None
        assert owners_of(far) == []
        assert len(await stage.pods(owner)) == 1


@pytest.mark.parametrize(("is_owner_dying", "is_dependent_dying"), [(True, False), (False, True)])
def test_ref_4_nobody_is_adopted_by_or_from_the_dying(is_owner_dying: bool, is_dependent_dying: bool) -> None:
    def made(name: str, *, is_dying: bool) -> dict[str, Any]:
        dying = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_dying else {}
        return {"metadata": {"name": name, "namespace": NAMESPACE, "uid": name, **dying}}

    owner, dependent = made("owner", is_dying=is_owner_dying), made("dependent", is_dying=is_dependent_dying)
    assert judge(owner, dependent, is_match=True) is Verdict.NONE
    assert judge(made("owner", is_dying=False), made("dependent", is_dying=False), is_match=True) is Verdict.ADOPT


def test_ref_1_and_ref_4_are_kept_for_whoever_is_asked_about() -> None:
    def made(name: str, namespace: str = NAMESPACE, controller: str = "") -> dict[str, Any]:
        references = [{"kind": "ReplicaSet", "uid": controller, "controller": True}] if controller else []
        return {"metadata": {"name": name, "namespace": namespace, "uid": name, "ownerReferences": references}}

    owner = made("owner")
    assert judge(owner, made("far", "elsewhere"), is_match=True) is Verdict.NONE
    assert judge(owner, made("theirs", controller="another"), is_match=True) is Verdict.NONE
    assert judge(owner, made("theirs", controller="another"), is_match=False) is Verdict.NONE


async def claiming(stage: Stage, owner: Any, pod: Any) -> tuple[list[Any], list[Any]]:
    """Claim the pod for the owner, as both were known at some time."""
    client = Client(Local(stage.cluster.api))
    claims = Claims(REPLICA_SET, client, Informer(client, PODS, stage.cluster.clock))
    try:
        return await claims.claim(owner, [pod], lambda one: (one["metadata"].get("labels") or {}) == LABELS), []
    except ExceptionGroup as group:
        return [], list(group.exceptions)


async def test_ref_5_owner_that_is_known_to_live_but_does_not_adopts_nobody() -> None:
    async with staged() as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        await stage.delete(REPLICA_SETS, "web")
        again = await stage.make(REPLICA_SETS, "web", replicas_of(1), finalizers=["e.com/hold"])
        pod = await stage.pod("orphan")
        assert (await claiming(stage, owner, pod))[0] == []  # gone, and another has its name
        await stage.delete(REPLICA_SETS, "web")
        ours, failures = await claiming(stage, again, pod)  # being deleted
        assert (ours, len(failures)) == ([], 1)
        assert owners_of(await stage.get(PODS, "orphan")) == []


async def test_ref_6_adoption_never_hits_another_pod_of_the_same_name() -> None:
    async with staged() as stage:
        owner, pod = await stage.make(REPLICA_SETS, "web", replicas_of(1)), await stage.pod("orphan")
        await stage.delete(PODS, "orphan")
        assert await claiming(stage, owner, pod) == ([], [])  # gone: nothing to do
        await stage.pod("orphan")
        ours, failures = await claiming(stage, owner, pod)
        assert (ours, len(failures)) == ([], 1)
        assert owners_of(await stage.get(PODS, "orphan")) == []


async def test_ref_6_two_owners_that_want_the_same_pod_do_not_both_get_it() -> None:
    async with staged("replicasets") as stage:
        await stage.pod("orphan")
        one = await stage.make(REPLICA_SETS, "one", replicas_of(1))
        two = await stage.make(REPLICA_SETS, "two", replicas_of(1))
        assert owners_of(await stage.get(PODS, "orphan")) == [one["metadata"]["uid"]]
        assert [len(await stage.pods(owner)) for owner in (one, two)] == [1, 1]


async def test_ref_7_release_of_a_pod_that_is_gone_or_replaced_is_no_failure() -> None:
    async with staged() as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        pod = await stage.pod("ours", labels=OTHERS, ownerReferences=[reference(owner)])
        await stage.delete(PODS, "ours")
        assert await claiming(stage, owner, pod) == ([], [])
        again = await stage.pod("ours", labels=OTHERS, ownerReferences=[reference(owner)])
        assert await claiming(stage, owner, pod) == ([], [])
        assert owners_of(await stage.get(PODS, "ours")) == owners_of(again)


async def test_ref_7_release_leaves_other_owners_in_place() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        other = await stage.make(REPLICA_SETS, "other", replicas_of(0, selector={"matchLabels": OTHERS}, template=template(OTHERS)))
        [pod] = await stage.pods(owner)
        both = [reference(owner), reference(other, controller=False)]
        await stage.change(PODS, name_of(pod), {"metadata": {"labels": {"app": "none"}, "ownerReferences": both}})
        assert owners_of(await stage.get(PODS, name_of(pod))) == [other["metadata"]["uid"]]


async def test_ref_8_candidates_are_its_own_and_those_of_nobody() -> None:
    async with staged() as stage:
        owner, other = [await stage.make(REPLICA_SETS, name, replicas_of(0)) for name in ("web", "other")]
        for name, references in {"mine": [reference(owner)], "theirs": [reference(other)], "free": []}.items():
            await stage.pod(name, ownerReferences=references)
        client = Client(Local(stage.cluster.api))
        pods = Informer(client, PODS, stage.cluster.clock)
        following = asyncio.ensure_future(pods.run())
        await pods.is_synced.wait()
        assert {name_of(pod) for pod in Claims(REPLICA_SET, client, pods).candidates(owner)} == {"mine", "free"}
        await tasks.stop(following)
