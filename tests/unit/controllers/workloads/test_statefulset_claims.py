"""The claims of StatefulSets: their owners, and when they are deleted. STS-1 to STS-9."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET
from probate.controllers.workloads.pod_template import is_active, is_ready
from probate.controllers.workloads.statefulsets import volume_claims
from probate.controllers.workloads.statefulsets.volume_claims import CLAIMS
from support.workload_cluster import LABELS, WorkloadCluster, name_of, replicas_of, workload_cluster

SETS = STATEFUL_SET.resource
POLICIES = [(scaled, deleted) for scaled in ("Retain", "Delete") for deleted in ("Retain", "Delete")]


def set_of(replicas: int, scaled: str = "Retain", deleted: str = "Retain", **spec: Any) -> Object:
    template = {
        "metadata": {"name": "data", "labels": {"tier": "disk"}, "annotations": {"note": "x"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    retention = {"whenScaled": scaled, "whenDeleted": deleted}
    return replicas_of(replicas, volumeClaimTemplates=[template], persistentVolumeClaimRetentionPolicy=retention, **spec)


async def make_all_ready(cluster: WorkloadCluster) -> None:
    while waiting := [pod for pod in await cluster.pods() if is_active(pod) and not is_ready(pod)]:
        await cluster.run(waiting[0])


async def remove_claim_protection(cluster: WorkloadCluster) -> None:
    """Removes the finalizers of claims that are being deleted, as the PVC protection controller does for unused ones."""
    for claim in await cluster.all(CLAIMS):
        if "deletionTimestamp" in claim["metadata"]:
            await cluster.change(CLAIMS, name_of(claim), {"metadata": {"finalizers": None}})


async def owners(cluster: WorkloadCluster) -> dict[str, list[tuple[str, str]]]:
    """Returns the owners of each claim."""
    claims = await cluster.all(CLAIMS)
    return {
        name_of(claim): [(reference["kind"], reference["name"]) for reference in claim["metadata"].get("ownerReferences") or []]
        for claim in claims
    }


def expected_owners(scaled: str, deleted: str, *, is_desired: bool) -> list[tuple[str, str]]:
    """Returns the expected owners: STS-3, spelled out a second time."""
    if scaled == "Delete" and not is_desired:
        return [("Pod", "web-1")]
    return [("StatefulSet", "web")] if deleted == "Delete" else []


async def test_sts_2_each_pod_has_its_claims_by_name() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        [claim], [pod] = await cluster.all(CLAIMS), await cluster.pods()
        assert name_of(claim) == "data-web-0"
        assert claim["metadata"]["labels"] == {"tier": "disk", **LABELS}
        assert claim["metadata"]["annotations"]["note"] == "x"
        [volume] = [pod_volume for pod_volume in pod["spec"]["volumes"] if pod_volume["name"] == "data"]
        assert volume["persistentVolumeClaim"] == {"claimName": "data-web-0"}


@pytest.mark.parametrize(("scaled", "deleted"), POLICIES)
async def test_sts_3_claims_are_owned_by_what_they_are_deleted_with(scaled: str, deleted: str) -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2, scaled, deleted))
        await make_all_ready(cluster)
        assert (await owners(cluster))["data-web-1"] == expected_owners(scaled, deleted, is_desired=True)
        await cluster.bind(*await cluster.pods())
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        assert (await owners(cluster))["data-web-1"] == expected_owners(scaled, deleted, is_desired=False), (
            "before the pod is gone (STS-7)"
        )
        await cluster.delete(PODS, "web-1", grace=0)
        await remove_claim_protection(cluster)
        assert ("data-web-1" in await owners(cluster)) == (scaled == "Retain")
        assert (await owners(cluster))["data-web-0"] == expected_owners(scaled, deleted, is_desired=True)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
@pytest.mark.parametrize(("scaled", "deleted"), POLICIES)
async def test_sts_9_claims_are_deleted_with_the_set_if_the_policy_says_so(scaled: str, deleted: str, propagation: str) -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(2, scaled, deleted))
        await make_all_ready(cluster)
        await cluster.delete(SETS, "web", propagation)
        await remove_claim_protection(cluster)
        assert await cluster.find(SETS, "web") is None
        assert await cluster.pods() == []
        assert list(await owners(cluster)) == ([] if deleted == "Delete" else ["data-web-0", "data-web-1"])


async def test_sts_1_changing_the_policy_changes_the_owners() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        await make_all_ready(cluster)
        for deleted, expected in (("Delete", [("StatefulSet", "web")]), ("Retain", [])):
            policy = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted}}
            await cluster.change(SETS, "web", {"spec": policy})
            assert await owners(cluster) == {"data-web-0": expected}


async def test_sts_8_no_pod_is_created_while_a_claim_is_owned_by_the_former_pod() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1, "Delete"))
        await make_all_ready(cluster)
        await cluster.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": ["test.example/hold"]}})
        await cluster.change(SETS, "web", {"spec": {"replicas": 0}})
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await cluster.pods() == []
        first = await cluster.get(CLAIMS, "data-web-0")
        await cluster.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
        [claim] = await cluster.all(CLAIMS)
        assert claim["metadata"]["uid"] != first["metadata"]["uid"]
        assert [name_of(pod) for pod in await cluster.pods()] == ["web-0"]


async def test_sts_8_no_pod_is_created_before_the_claim_of_the_former_pod_is_collected() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1, "Delete"))
        await make_all_ready(cluster)
        await cluster.bind(*await cluster.pods())
        await cluster.change(SETS, "web", {"spec": {"replicas": 0}})
        await cluster.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await owners(cluster) == {"data-web-0": [("Pod", "web-0")]}
        await cluster.delete(PODS, "web-0", grace=0)
        assert await cluster.pods() == [], "the claim is not gone yet"
        await remove_claim_protection(cluster)
        assert [name_of(pod) for pod in await cluster.pods()] == ["web-0"]


async def test_sts_8_no_pod_is_created_while_its_claim_is_being_deleted() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        await cluster.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": ["test.example/hold"]}})
        await cluster.delete(CLAIMS, "data-web-0")
        await cluster.delete(PODS, "web-0", grace=0)
        assert await cluster.pods() == []
        assert "FailedCreate" in [reason for reason, _ in await cluster.event_messages("web")]
        await cluster.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
        assert [name_of(pod) for pod in await cluster.pods()] == ["web-0"]


async def test_lost_claim_of_a_pending_pod_is_created_again() -> None:
    async with workload_cluster("statefulsets") as cluster:
        await cluster.create(SETS, "web", set_of(1))
        await cluster.delete(CLAIMS, "data-web-0")
        assert list(await owners(cluster)) == ["data-web-0"]


def test_sts_4_claim_of_a_former_set_is_not_changed() -> None:
    former = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "former", "controller": True}
    pod = {"metadata": {"name": "web-0", "uid": "pod"}}
    stateful_set = {"metadata": {"name": "web", "uid": "set"}, "spec": set_of(1, "Delete", "Delete")}
    claim = {"metadata": {"name": "data-web-0", "ownerReferences": [former]}}
    assert volume_claims.desired_ownership(claim, stateful_set, pod, is_desired=True) == (None, False)


@pytest.mark.parametrize(("scaled", "deleted"), POLICIES)
async def test_sts_5_claim_with_another_controller_is_not_taken_over(scaled: str, deleted: str) -> None:
    async with workload_cluster("statefulsets") as cluster:
        stateful_set = await cluster.create(SETS, "web", set_of(1, scaled, deleted))
        own_reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": stateful_set["metadata"]["uid"]}
        other = await cluster.pod("other")
        other_reference = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": other["metadata"]["uid"], "controller": True}
        await cluster.change(CLAIMS, "data-web-0", {"metadata": {"ownerReferences": [own_reference, other_reference]}})
        await cluster.change(SETS, "web", {"metadata": {"annotations": {"look": "again"}}})
        assert await owners(cluster) == {"data-web-0": [("Pod", "other")]}
        is_reported = "ConflictingController" in [reason for reason, _ in await cluster.event_messages("web")]
        assert is_reported == ((scaled, deleted) != ("Retain", "Retain"))


async def test_sts_4_sts_6_owner_reference_becomes_controlling_and_others_stay() -> None:
    async with workload_cluster("statefulsets") as cluster:
        stateful_set = await cluster.create(SETS, "web", set_of(1, deleted="Delete"))
        own_reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": stateful_set["metadata"]["uid"]}
        other = await cluster.pod("other")
        other_reference = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": other["metadata"]["uid"]}
        await cluster.change(CLAIMS, "data-web-0", {"metadata": {"ownerReferences": [own_reference, other_reference]}})
        await cluster.change(SETS, "web", {"metadata": {"annotations": {"look": "again"}}})
        [claim] = await cluster.all(CLAIMS)
        assert [(reference["name"], reference.get("controller")) for reference in claim["metadata"]["ownerReferences"]] == [
            ("other", None),
            ("web", True),
        ]
