"""The claims of StatefulSets: who owns them when, and what goes with whom. STS-1 to STS-9."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET
from probate.controllers.workloads.pod_template import is_active, is_ready
from probate.controllers.workloads.statefulsets import volume_claims
from probate.controllers.workloads.statefulsets.volume_claims import CLAIMS
from support.workload_cluster import LABELS, Object, Stage, name_of, replicas_of, staged

SETS = STATEFUL_SET.resource
POLICIES = [(scaled, deleted) for scaled in ("Retain", "Delete") for deleted in ("Retain", "Delete")]


def set_of(replicas: int, scaled: str = "Retain", deleted: str = "Retain", **spec: Any) -> Object:
    template = {
        "metadata": {"name": "data", "labels": {"tier": "disk"}, "annotations": {"note": "x"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    kept = {"whenScaled": scaled, "whenDeleted": deleted}
    return replicas_of(replicas, volumeClaimTemplates=[template], persistentVolumeClaimRetentionPolicy=kept, **spec)


async def serve(stage: Stage) -> None:
    while waiting := [pod for pod in await stage.pods() if is_active(pod) and not is_ready(pod)]:
        await stage.run(waiting[0])


async def unprotect(stage: Stage) -> None:
    """Let go of claims that are being deleted, as is done for those that no pod uses."""
    for one in await stage.all(CLAIMS):
        if "deletionTimestamp" in one["metadata"]:
            await stage.change(CLAIMS, name_of(one), {"metadata": {"finalizers": None}})


async def owners(stage: Stage) -> dict[str, list[tuple[str, str]]]:
    """Whom each claim belongs to."""
    found = await stage.all(CLAIMS)
    return {name_of(one): [(each["kind"], each["name"]) for each in one["metadata"].get("ownerReferences") or []] for one in found}


def as_wanted(scaled: str, deleted: str, *, is_wanted: bool) -> list[tuple[str, str]]:
    """STS-3, spelt out once more."""
    if scaled == "Delete" and not is_wanted:
        return [("Pod", "web-1")]
    return [("StatefulSet", "web")] if deleted == "Delete" else []


async def test_sts_2_each_pod_has_its_claims_by_name() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        [claim], [pod] = await stage.all(CLAIMS), await stage.pods()
        assert name_of(claim) == "data-web-0"
        assert claim["metadata"]["labels"] == {"tier": "disk", **LABELS}
        assert claim["metadata"]["annotations"]["note"] == "x"
        [volume] = [one for one in pod["spec"]["volumes"] if one["name"] == "data"]
        assert volume["persistentVolumeClaim"] == {"claimName": "data-web-0"}


@pytest.mark.parametrize(("scaled", "deleted"), POLICIES)
async def test_sts_3_claims_belong_to_whom_they_go_with(scaled: str, deleted: str) -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2, scaled, deleted))
        await serve(stage)
        assert (await owners(stage))["data-web-1"] == as_wanted(scaled, deleted, is_wanted=True)
        await stage.bind(*await stage.pods())
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        assert (await owners(stage))["data-web-1"] == as_wanted(scaled, deleted, is_wanted=False), "before the pod is gone (STS-7)"
        await stage.delete(PODS, "web-1", grace=0)
        await unprotect(stage)
        assert ("data-web-1" in await owners(stage)) == (scaled == "Retain")
        assert (await owners(stage))["data-web-0"] == as_wanted(scaled, deleted, is_wanted=True)


@pytest.mark.parametrize("way", ["Background", "Foreground"])
@pytest.mark.parametrize(("scaled", "deleted"), POLICIES)
async def test_sts_9_claims_go_with_the_set_if_they_should(scaled: str, deleted: str, way: str) -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(2, scaled, deleted))
        await serve(stage)
        await stage.delete(SETS, "web", way)
        await unprotect(stage)
        assert await stage.find(SETS, "web") is None
        assert await stage.pods() == []
        assert list(await owners(stage)) == ([] if deleted == "Delete" else ["data-web-0", "data-web-1"])


async def test_sts_1_another_policy_changes_the_owners() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        await serve(stage)
        for deleted, wanted in (("Delete", [("StatefulSet", "web")]), ("Retain", [])):
            policy = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted}}
            await stage.change(SETS, "web", {"spec": policy})
            assert await owners(stage) == {"data-web-0": wanted}


async def test_sts_8_no_pod_comes_while_a_claim_follows_the_former_one() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1, "Delete"))
        await serve(stage)
        await stage.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": ["test.example/hold"]}})
        await stage.change(SETS, "web", {"spec": {"replicas": 0}})
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await stage.pods() == []
        former = await stage.get(CLAIMS, "data-web-0")
        await stage.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
        [claim] = await stage.all(CLAIMS)
        assert claim["metadata"]["uid"] != former["metadata"]["uid"]
        assert [name_of(pod) for pod in await stage.pods()] == ["web-0"]


async def test_sts_8_no_pod_comes_before_the_claim_of_the_former_one_is_collected() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1, "Delete"))
        await serve(stage)
        await stage.bind(*await stage.pods())
        await stage.change(SETS, "web", {"spec": {"replicas": 0}})
        await stage.change(SETS, "web", {"spec": {"replicas": 1}})
        assert await owners(stage) == {"data-web-0": [("Pod", "web-0")]}
        await stage.delete(PODS, "web-0", grace=0)
        assert await stage.pods() == [], "the claim is not gone yet"
        await unprotect(stage)
        assert [name_of(pod) for pod in await stage.pods()] == ["web-0"]


async def test_sts_8_no_pod_comes_while_its_claim_is_being_deleted() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        await stage.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": ["test.example/hold"]}})
        await stage.delete(CLAIMS, "data-web-0")
        await stage.delete(PODS, "web-0", grace=0)
        assert await stage.pods() == []
        assert "FailedCreate" in [reason for reason, _ in await stage.told("web")]
        await stage.change(CLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
        assert [name_of(pod) for pod in await stage.pods()] == ["web-0"]


async def test_claim_that_is_lost_comes_back_while_its_pod_waits() -> None:
    async with staged("statefulsets") as stage:
        await stage.make(SETS, "web", set_of(1))
        await stage.delete(CLAIMS, "data-web-0")
        assert list(await owners(stage)) == ["data-web-0"]


def test_sts_4_claim_that_refers_to_a_former_set_is_left_alone() -> None:
    former = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "former", "controller": True}
    pod = {"metadata": {"name": "web-0", "uid": "pod"}}
    set_ = {"metadata": {"name": "web", "uid": "set"}, "spec": set_of(1, "Delete", "Delete")}
    claim = {"metadata": {"name": "data-web-0", "ownerReferences": [former]}}
    assert volume_claims.ownership(claim, set_, pod, is_wanted=True) == (None, False)


@pytest.mark.parametrize(("scaled", "deleted"), POLICIES)
async def test_sts_5_claim_that_somebody_else_controls_is_theirs(scaled: str, deleted: str) -> None:
    async with staged("statefulsets") as stage:
        set_ = await stage.make(SETS, "web", set_of(1, scaled, deleted))
        ours = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": set_["metadata"]["uid"]}
        other = await stage.pod("other")
        theirs = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": other["metadata"]["uid"], "controller": True}
        await stage.change(CLAIMS, "data-web-0", {"metadata": {"ownerReferences": [ours, theirs]}})
        await stage.change(SETS, "web", {"metadata": {"annotations": {"look": "again"}}})
        assert await owners(stage) == {"data-web-0": [("Pod", "other")]}
        is_told = "ConflictingController" in [reason for reason, _ in await stage.told("web")]
        assert is_told == ((scaled, deleted) != ("Retain", "Retain"))


async def test_sts_4_sts_6_owner_that_does_not_control_becomes_one_that_does_and_others_stay() -> None:
    async with staged("statefulsets") as stage:
        set_ = await stage.make(SETS, "web", set_of(1, deleted="Delete"))
        ours = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": set_["metadata"]["uid"]}
        other = await stage.pod("other")
        theirs = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": other["metadata"]["uid"]}
        await stage.change(CLAIMS, "data-web-0", {"metadata": {"ownerReferences": [ours, theirs]}})
        await stage.change(SETS, "web", {"metadata": {"annotations": {"look": "again"}}})
        [claim] = await stage.all(CLAIMS)
        assert [(one["name"], one.get("controller")) for one in claim["metadata"]["ownerReferences"]] == [
            ("other", None),
            ("web", True),
        ]
