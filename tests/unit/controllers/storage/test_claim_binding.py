"""Claims get volumes, and volumes whose claims are gone are reclaimed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.client.objects import Kind
from probate.client.resources import CLAIMS, CLASSES, VOLUMES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import NAMESPACE, Object, Stage, staged

EVENTS = Kind("", "v1", "events")
CONTROLLERS = ("volumes", "volumeprotection", "claimprotection")
PROVISIONED_BY, BOUND_BY_US = "pv.kubernetes.io/provisioned-by", "pv.kubernetes.io/bound-by-controller"


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged(*CONTROLLERS) as one:
        yield one


async def volume(stage: Stage, name: str = "v", size: str = "5Gi", *, path: str = "/tmp/v", **spec: Any) -> None:  # noqa: S108
    meta = {"name": name, "annotations": spec.pop("annotations", {}), "labels": spec.pop("labels", {})}
    new = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": path}, **spec}
    await stage.client.create(VOLUMES, "", {"metadata": meta, "spec": new})
    await stage.settle()


async def claim(stage: Stage, name: str = "data", size: str = "1Gi", **spec: Any) -> None:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": "", **spec}
    await stage.make(CLAIMS, name, {key: value for key, value in asked.items() if value is not None})


async def class_(stage: Stage, name: str = "fast", provisioner: str = "probate.dev/hostpath", **more: Any) -> None:
    meta = {"name": name, "annotations": more.pop("annotations", {})}
    await stage.client.create(CLASSES, "", {"metadata": meta, "provisioner": provisioner, **more})
    await stage.settle()


async def found(stage: Stage, name: str = "v") -> Object:
    one = await stage.client.get(VOLUMES, "", name)
    assert one is not None
    return one


async def phase(stage: Stage, name: str = "v") -> str:
    text: str = (await found(stage, name))["status"]["phase"]
    return text


async def has(stage: Stage, name: str = "data") -> tuple[str, str]:
    """The phase of a claim, and its volume."""
    one = await stage.get(CLAIMS, name)
    return one["status"]["phase"], one["spec"].get("volumeName", "")


async def told(stage: Stage, about: str) -> list[str]:
    events = (await stage.client.list(EVENTS)).items
    return [one["reason"] for one in events if one["involvedObject"]["name"] == about]


async def test_a_claim_gets_the_smallest_volume_that_fits(stage: Stage) -> None:
    await volume(stage, "small", "500Mi")
    await volume(stage, "large", "50Gi")
    await volume(stage, "right", "5Gi")
    await volume(stage, "other-class", "1Gi", storageClassName="fast")
    await volume(stage, "other-mode", "1Gi", accessModes=["ReadOnlyMany"])
    await claim(stage)
    assert await has(stage) == ("Bound", "right")
    bound = await found(stage, "right")
    assert bound["status"]["phase"] == "Bound"
    assert bound["spec"]["claimRef"]["uid"] == (await stage.get(CLAIMS, "data"))["metadata"]["uid"]
    assert (await stage.get(CLAIMS, "data"))["status"]["capacity"] == {"storage": "5Gi"}
    assert await phase(stage, "large") == "Available"


async def test_a_claim_waits_for_a_volume_and_two_never_have_the_same(stage: Stage) -> None:
    await claim(stage, "a")
    await claim(stage, "b")
    assert await has(stage, "a") == ("Pending", "")
    assert "FailedBinding" in await told(stage, "a")
    await volume(stage)
    assert sorted([await has(stage, "a"), await has(stage, "b")]) == [("Bound", "v"), ("Pending", "")]


async def test_a_claim_with_a_selector_gets_a_volume_with_these_labels(stage: Stage) -> None:
    await volume(stage, "plain", "1Gi")
    await volume(stage, "labelled", "9Gi", labels={"disk": "ssd"})
    await claim(stage, selector={"matchLabels": {"disk": "ssd"}})
    assert await has(stage) == ("Bound", "labelled")


async def test_a_volume_that_is_kept_for_a_claim_is_its(stage: Stage) -> None:
    await volume(stage, "kept", "50Gi", claimRef={"namespace": NAMESPACE, "name": "data"})
    await volume(stage, "free", "1Gi")
    await claim(stage, "other")
    assert await has(stage, "other") == ("Bound", "free")
    await claim(stage)
    assert await has(stage) == ("Bound", "kept")
    assert BOUND_BY_US not in (await found(stage, "kept"))["metadata"].get("annotations", {})


async def test_a_claim_that_names_its_volume_gets_that_one(stage: Stage) -> None:
    await volume(stage, "a", "1Gi")
    await volume(stage, "b", "9Gi")
    await claim(stage, volumeName="b")
    assert await has(stage) == ("Bound", "b")
    await claim(stage, "large", "90Gi", volumeName="a")
    assert await has(stage, "large") == ("Pending", "a")
    assert "VolumeMismatch" in await told(stage, "large")


async def test_a_volume_is_made_for_a_claim_of_our_class(stage: Stage) -> None:
    await class_(stage, reclaimPolicy="Retain", mountOptions=["ro"])
    await claim(stage, storageClassName="fast")
    uid = (await stage.get(CLAIMS, "data"))["metadata"]["uid"]
    assert await has(stage) == ("Bound", f"pvc-{uid}")
    made = await found(stage, f"pvc-{uid}")
    assert made["metadata"]["annotations"][PROVISIONED_BY] == "probate.dev/hostpath"
    assert (made["spec"]["persistentVolumeReclaimPolicy"], made["spec"]["capacity"]) == ("Retain", {"storage": "1Gi"})
    assert made["spec"]["mountOptions"] == ["ro"]
    assert "ProvisioningSucceeded" in await told(stage, "data")


async def test_a_claim_that_names_no_class_gets_the_default_also_later(stage: Stage) -> None:
    await claim(stage, storageClassName=None)
    await claim(stage, "none", storageClassName="")
    assert await has(stage) == ("Pending", "")
    await class_(stage, annotations={"storageclass.kubernetes.io/is-default-class": "true"})
    assert (await has(stage))[0] == "Bound"
    assert (await stage.get(CLAIMS, "data"))["spec"]["storageClassName"] == "fast"
    assert await has(stage, "none") == ("Pending", "")


async def test_volumes_of_other_provisioners_are_theirs_to_make(stage: Stage) -> None:
    await class_(stage, provisioner="example.com/disk")
    await claim(stage, storageClassName="fast")
    notes = (await stage.get(CLAIMS, "data"))["metadata"]["annotations"]
    assert notes["volume.kubernetes.io/storage-provisioner"] == "example.com/disk"
    assert await told(stage, "data") == ["ExternalProvisioning"]
    assert await has(stage) == ("Pending", "")


async def test_a_claim_that_waits_for_its_first_consumer_is_bound_when_it_knows_the_node(stage: Stage) -> None:
    await class_(stage, volumeBindingMode="WaitForFirstConsumer")
    await claim(stage, storageClassName="fast")
    assert await has(stage) == ("Pending", "")
    assert await told(stage, "data") == ["WaitForFirstConsumer"]
    await stage.change(CLAIMS, "data", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}})
    state, name = await has(stage)
    assert state == "Bound"
    [term] = (await found(stage, name))["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["node-1"]


async def test_pv_1_a_volume_without_a_claim_is_available(stage: Stage) -> None:
    await volume(stage)
    await volume(stage, "kept", claimRef={"namespace": NAMESPACE, "name": "nobody"})
    assert await phase(stage) == "Available"
    assert await phase(stage, "kept") == "Available"


async def test_pv_2_a_claim_that_is_not_known_is_asked_for_before_it_is_taken_for_gone(stage: Stage) -> None:
    with stage.cluster.line.holding("persistentvolumeclaims"):
        await claim(stage, volumeName="v")
        uid = (await stage.get(CLAIMS, "data"))["metadata"]["uid"]
        await volume(stage, claimRef={"namespace": NAMESPACE, "name": "data", "uid": uid}, persistentVolumeReclaimPolicy="Delete")
        assert await phase(stage) == "Bound"
    await stage.settle()
    assert await has(stage) == ("Bound", "v")


async def test_pv_10_pv_12_a_volume_that_was_taken_back_meanwhile_is_not_deleted(stage: Stage) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Failed"  # it is tried again
    with stage.cluster.line.holding("persistentvolumes"):
        freed = {"metadata": {"annotations": {PROVISIONED_BY: "probate.dev/hostpath"}}, "spec": {"claimRef": None}}
        await stage.client.patch(VOLUMES, "", "v", freed)
        await stage.pass_time(100)
        assert "deletionTimestamp" not in (await found(stage))["metadata"]
    await stage.settle()
    assert await phase(stage) == "Available"


async def test_pv_10_a_volume_that_was_taken_back_meanwhile_is_not_recycled(stage: Stage) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Recycle")
    await claim(stage)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    await stage.make(PODS, "a", {"containers": [{"name": "c", "image": "x"}], "volumes": volumes})
    await stage.delete(CLAIMS, "data")
    with stage.cluster.line.holding("persistentvolumes"):
        await stage.client.patch(VOLUMES, "", "v", {"spec": {"claimRef": None}})
        await stage.delete(PODS, "a")
    await stage.settle()
    assert await phase(stage) == "Available"
    assert "VolumeRecycled" not in await told(stage, "v")


async def test_pv_3_another_claim_of_the_same_name_is_not_the_one_that_is_meant(stage: Stage) -> None:
    await claim(stage)
    await volume(stage, claimRef={"namespace": NAMESPACE, "name": "data", "uid": "of-an-older-claim"})
    assert await phase(stage) == "Released"
    assert await has(stage) == ("Pending", "")


async def test_pv_4_pv_8_retain_keeps_the_volume_and_its_claim(stage: Stage) -> None:
    await volume(stage)
    await claim(stage)
    uid = (await stage.get(CLAIMS, "data"))["metadata"]["uid"]
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Released"
    await stage.pass_time(1000)
    assert (await found(stage))["spec"]["claimRef"]["uid"] == uid


async def test_pv_5_a_volume_whose_claim_has_another_is_let_go(stage: Stage) -> None:
    await volume(stage, "a", "1Gi")
    await claim(stage)
    bound = await found(stage, "a")
    await volume(stage, "b", "2Gi", claimRef=bound["spec"]["claimRef"], annotations={BOUND_BY_US: "yes"})
    assert await phase(stage, "b") == "Available"
    assert "claimRef" not in (await found(stage, "b"))["spec"]
    await volume(stage, "c", "2Gi", claimRef=bound["spec"]["claimRef"])
    assert (await found(stage, "c"))["spec"]["claimRef"].get("uid") is None
    assert (await found(stage, "c"))["spec"]["claimRef"]["name"] == "data"


async def test_pv_5_a_volume_that_was_made_for_a_claim_that_has_another_goes(stage: Stage) -> None:
    await volume(stage, "a", "1Gi")
    await claim(stage)
    reference = (await found(stage, "a"))["spec"]["claimRef"]
    notes = {PROVISIONED_BY: "probate.dev/hostpath"}
    await volume(stage, "b", claimRef=reference, annotations=notes, persistentVolumeReclaimPolicy="Delete")
    assert await stage.client.get(VOLUMES, "", "b") is None


async def test_pv_6_a_claim_whose_volume_is_gone_is_lost(stage: Stage) -> None:
    await volume(stage)
    await claim(stage)
    await stage.client.patch(VOLUMES, "", "v", {"metadata": {"finalizers": None}})
    await stage.client.delete(VOLUMES, "", "v")
    await stage.settle()
    assert (await has(stage))[0] == "Lost"
    assert "ClaimLost" in await told(stage, "data")


async def test_pv_7_a_bound_volume_that_is_deleted_stays_until_its_claim_is_gone(stage: Stage) -> None:
    await volume(stage)
    await claim(stage)
    await stage.client.delete(VOLUMES, "", "v")
    await stage.settle()
    assert await phase(stage) == "Bound"
    await stage.delete(CLAIMS, "data")
    assert await stage.client.get(VOLUMES, "", "v") is None


@pytest.mark.parametrize("policy", ["Delete", "Recycle"])
async def test_pv_8_a_volume_that_was_migrated_is_left_alone(stage: Stage, policy: str) -> None:
    await volume(stage, persistentVolumeReclaimPolicy=policy, annotations={"pv.kubernetes.io/migrated-to": "example.com"})
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Released"


async def test_pv_14_delete_takes_the_volume_away(stage: Stage) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await stage.client.get(VOLUMES, "", "v") is None


async def test_reclaim_is_the_same_when_the_volume_is_deleted_before_its_claim(stage: Stage) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.client.delete(VOLUMES, "", "v")
    await stage.delete(CLAIMS, "data")
    assert "VolumeFailedDelete" in await told(stage, "v")


async def test_pv_13_a_volume_that_cannot_be_deleted_has_failed_and_is_tried_again(stage: Stage) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    failed = (await found(stage))["status"]
    assert (failed["phase"], "/data" in failed["message"]) == ("Failed", True)
    assert await told(stage, "v") == ["VolumeFailedDelete"]
    await stage.client.patch(VOLUMES, "", "v", {"metadata": {"annotations": {PROVISIONED_BY: "probate.dev/hostpath"}}})
    await stage.pass_time(1)
    assert await stage.client.get(VOLUMES, "", "v") is None


async def test_pv_9_what_fails_is_tried_again_later_each_time(stage: Stage) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(CLAIMS, "data")

    async def failures() -> float:
        shown = (await stage.cluster.ask("GET", "/metrics", accept="text/plain")).body.decode()
        [line] = [one for one in shown.splitlines() if one.startswith("volume_operation_errors_total{")]
        return float(line.rpartition(" ")[2])

    first = await failures()
    await stage.pass_time(100)
    assert first < await failures() <= first + 9


async def test_pv_11_volumes_of_others_are_theirs_to_delete(stage: Stage) -> None:
    """They stay as they are until somebody else comes for them. (PV-15)"""
    notes = {PROVISIONED_BY: "example.com/disk"}
    await volume(stage, persistentVolumeReclaimPolicy="Delete", annotations=notes)
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Released"


async def test_pv_11_a_volume_that_no_plugin_knows_has_failed(stage: Stage) -> None:
    notes = {PROVISIONED_BY: "kubernetes.io/unknown"}
    await volume(stage, persistentVolumeReclaimPolicy="Delete", annotations=notes)
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Failed"


async def test_pv_16_volumes_made_in_tree_are_held_until_they_are_deleted(stage: Stage) -> None:
    notes = {PROVISIONED_BY: "kubernetes.io/host-path"}
    await volume(stage, persistentVolumeReclaimPolicy="Delete", annotations=notes)
    await volume(stage, "retained", annotations=notes)
    await volume(stage, "others", persistentVolumeReclaimPolicy="Delete", annotations={PROVISIONED_BY: "example.com/disk"})
    assert "kubernetes.io/pv-controller" in (await found(stage))["metadata"]["finalizers"]
    assert "kubernetes.io/pv-controller" not in (await found(stage, "retained"))["metadata"]["finalizers"]
    assert "kubernetes.io/pv-controller" not in (await found(stage, "others"))["metadata"]["finalizers"]
    await claim(stage, volumeName="v")
    await stage.delete(CLAIMS, "data")
    assert await stage.client.get(VOLUMES, "", "v") is None


@pytest.mark.parametrize("source", [{}, {"hostPath": None, "nfs": {"server": "s", "path": "/x"}}])
async def test_pv_18_recycle_makes_the_volume_available_again(stage: Stage, source: Object) -> None:
    """At once, for nothing has to run: PV-19 tells how long that may take."""
    await volume(stage, persistentVolumeReclaimPolicy="Recycle", **source)
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Available"
    assert "claimRef" not in (await found(stage))["spec"]
    assert "VolumeRecycled" in await told(stage, "v")
    await claim(stage, "next")
    assert await has(stage, "next") == ("Bound", "v")


async def test_pv_18_a_volume_that_nobody_can_recycle_has_failed(stage: Stage) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Recycle", gcePersistentDisk={"pdName": "x"}, hostPath=None)
    await claim(stage)
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Failed"
    assert "VolumeFailedRecycle" in await told(stage, "v")


async def test_pv_17_a_volume_is_not_recycled_while_a_pod_uses_it(stage: Stage) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Recycle")
    await claim(stage)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    await stage.make(PODS, "a", {"containers": [{"name": "c", "image": "x"}], "volumes": volumes})
    await stage.delete(CLAIMS, "data")
    assert await phase(stage) == "Released"
    assert await told(stage, "v") == ["VolumeFailedRecycle"]
    await stage.delete(PODS, "a")
    assert await phase(stage) == "Available"


async def test_simulated_nodes_come_with_a_class_and_pods_with_claims_run() -> None:
    async with staged(*CONTROLLERS, "scheduler", "nodes", "simulator", nodes=1) as stage:
        await claim(stage, storageClassName=None)
        assert (await has(stage))[0] == "Bound"
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        await stage.make(PODS, "a", {"containers": [{"name": "c", "image": "x"}], "volumes": volumes})
        await stage.pass_time(1)
        assert (await stage.get(PODS, "a"))["status"]["phase"] == "Running"


async def test_figures_tell_how_many_are_bound(stage: Stage) -> None:
    await volume(stage)
    await volume(stage, "free")
    await claim(stage)
    shown = (await stage.cluster.ask("GET", "/metrics", accept="text/plain")).body.decode()
    for line in (
        "bound_pv_count 1.0",
        "unbound_pv_count 1.0",
        "bound_pvc_count 1.0",
        "unbound_pvc_count 0.0",
        "total_pv_count 2.0",
    ):
        assert f"pv_collector_{line}" in shown


CSI = {"driver": "d.example.com", "volumeHandle": "h"}


async def test_binding_a_claim_writes_down_its_current_attributes_class(stage: Stage) -> None:
    await volume(stage, "plain")
    await volume(stage, "gold", path="", hostPath=None, csi=CSI, volumeAttributesClassName="gold")
    await claim(stage, volumeAttributesClassName="gold")
    assert await has(stage) == ("Bound", "gold")
    status = (await stage.get(CLAIMS, "data"))["status"]
    assert status["currentVolumeAttributesClassName"] == "gold"


async def test_a_claim_without_an_attributes_class_does_not_get_a_volume_with_one(stage: Stage) -> None:
    await volume(stage, "gold", path="", hostPath=None, csi=CSI, volumeAttributesClassName="gold")
    await claim(stage)
    assert await has(stage) == ("Pending", "")


async def test_a_change_of_the_wanted_attributes_class_leaves_the_current_one_to_the_driver(stage: Stage) -> None:
    await class_(stage)
    await claim(stage, storageClassName="fast", volumeAttributesClassName="gold")
    assert (await has(stage))[0] == "Bound"
    await stage.change(CLAIMS, "data", {"spec": {"volumeAttributesClassName": "silver"}})
    assert (await stage.get(CLAIMS, "data"))["status"]["currentVolumeAttributesClassName"] == "gold"
    await stage.change(CLAIMS, "data", {"status": {"currentVolumeAttributesClassName": "silver"}}, "status")
    assert (await stage.get(CLAIMS, "data"))["status"]["currentVolumeAttributesClassName"] == "silver"
