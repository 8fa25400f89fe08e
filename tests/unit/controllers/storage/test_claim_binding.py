"""Claims are bound to volumes, and volumes whose claims are gone are reclaimed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import NAMESPACE, WorkloadCluster, workload_cluster

EVENTS = GroupVersionResource("", "v1", "events")
CONTROLLERS = ("volumes", "volumeprotection", "claimprotection")
PROVISIONED_BY, BOUND_BY_US = "pv.kubernetes.io/provisioned-by", "pv.kubernetes.io/bound-by-controller"


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(*CONTROLLERS) as one:
        yield one


async def volume(stage: WorkloadCluster, name: str = "v", size: str = "5Gi", *, path: str = "/tmp/v", **spec: Any) -> None:  # noqa: S108
    meta = {"name": name, "annotations": spec.pop("annotations", {}), "labels": spec.pop("labels", {})}
    new = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": path}, **spec}
    await stage.client.create(PERSISTENT_VOLUMES, "", {"metadata": meta, "spec": new})
    await stage.settle()


async def claim(stage: WorkloadCluster, name: str = "data", size: str = "1Gi", **spec: Any) -> None:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": "", **spec}
    await stage.create(PERSISTENT_VOLUME_CLAIMS, name, {key: value for key, value in asked.items() if value is not None})


async def class_(stage: WorkloadCluster, name: str = "fast", provisioner: str = "probate.dev/hostpath", **more: Any) -> None:
    meta = {"name": name, "annotations": more.pop("annotations", {})}
    await stage.client.create(STORAGE_CLASSES, "", {"metadata": meta, "provisioner": provisioner, **more})
    await stage.settle()


async def found(stage: WorkloadCluster, name: str = "v") -> Object:
    one = await stage.client.get(PERSISTENT_VOLUMES, "", name)
    assert one is not None
    return one


async def phase(stage: WorkloadCluster, name: str = "v") -> str:
    text: str = (await found(stage, name))["status"]["phase"]
    return text


async def phase_and_volume(stage: WorkloadCluster, name: str = "data") -> tuple[str, str]:
    """Returns the phase of a claim, and its volume."""
    one = await stage.get(PERSISTENT_VOLUME_CLAIMS, name)
    return one["status"]["phase"], one["spec"].get("volumeName", "")


async def events(stage: WorkloadCluster, about: str) -> list[str]:
    events = (await stage.client.list(EVENTS)).items
    return [one["reason"] for one in events if one["involvedObject"]["name"] == about]


async def test_a_claim_gets_the_smallest_volume_that_fits(stage: WorkloadCluster) -> None:
    await volume(stage, "small", "500Mi")
    await volume(stage, "large", "50Gi")
    await volume(stage, "right", "5Gi")
    await volume(stage, "other-class", "1Gi", storageClassName="fast")
    await volume(stage, "other-mode", "1Gi", accessModes=["ReadOnlyMany"])
    await claim(stage)
    assert await phase_and_volume(stage) == ("Bound", "right")
    bound = await found(stage, "right")
    assert bound["status"]["phase"] == "Bound"
    assert bound["spec"]["claimRef"]["uid"] == (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["metadata"]["uid"]
    assert (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["status"]["capacity"] == {"storage": "5Gi"}
    assert await phase(stage, "large") == "Available"


async def test_a_claim_waits_for_a_volume_and_two_never_have_the_same(stage: WorkloadCluster) -> None:
    await claim(stage, "a")
    await claim(stage, "b")
    assert await phase_and_volume(stage, "a") == ("Pending", "")
    assert "FailedBinding" in await events(stage, "a")
    await volume(stage)
    assert sorted([await phase_and_volume(stage, "a"), await phase_and_volume(stage, "b")]) == [("Bound", "v"), ("Pending", "")]


async def test_a_claim_with_a_selector_gets_a_volume_with_these_labels(stage: WorkloadCluster) -> None:
    await volume(stage, "plain", "1Gi")
    await volume(stage, "labelled", "9Gi", labels={"disk": "ssd"})
    await claim(stage, selector={"matchLabels": {"disk": "ssd"}})
    assert await phase_and_volume(stage) == ("Bound", "labelled")


async def test_a_reserved_volume_is_bound_to_its_claim(stage: WorkloadCluster) -> None:
    await volume(stage, "kept", "50Gi", claimRef={"namespace": NAMESPACE, "name": "data"})
    await volume(stage, "free", "1Gi")
    await claim(stage, "other")
    assert await phase_and_volume(stage, "other") == ("Bound", "free")
    await claim(stage)
    assert await phase_and_volume(stage) == ("Bound", "kept")
    assert BOUND_BY_US not in (await found(stage, "kept"))["metadata"].get("annotations", {})


async def test_a_claim_that_names_its_volume_gets_that_one(stage: WorkloadCluster) -> None:
    await volume(stage, "a", "1Gi")
    await volume(stage, "b", "9Gi")
    await claim(stage, volumeName="b")
    assert await phase_and_volume(stage) == ("Bound", "b")
    await claim(stage, "large", "90Gi", volumeName="a")
    assert await phase_and_volume(stage, "large") == ("Pending", "a")
    assert "VolumeMismatch" in await events(stage, "large")


async def test_a_volume_is_provisioned_for_a_claim_of_our_class(stage: WorkloadCluster) -> None:
    await class_(stage, reclaimPolicy="Retain", mountOptions=["ro"])
    await claim(stage, storageClassName="fast")
    uid = (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["metadata"]["uid"]
    assert await phase_and_volume(stage) == ("Bound", f"pvc-{uid}")
    made = await found(stage, f"pvc-{uid}")
    assert made["metadata"]["annotations"][PROVISIONED_BY] == "probate.dev/hostpath"
    assert (made["spec"]["persistentVolumeReclaimPolicy"], made["spec"]["capacity"]) == ("Retain", {"storage": "1Gi"})
    assert made["spec"]["mountOptions"] == ["ro"]
    assert "ProvisioningSucceeded" in await events(stage, "data")


async def test_a_claim_that_names_no_class_gets_the_default_also_later(stage: WorkloadCluster) -> None:
    await claim(stage, storageClassName=None)
    await claim(stage, "none", storageClassName="")
    assert await phase_and_volume(stage) == ("Pending", "")
    await class_(stage, annotations={"storageclass.kubernetes.io/is-default-class": "true"})
    assert (await phase_and_volume(stage))[0] == "Bound"
    assert (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["spec"]["storageClassName"] == "fast"
    assert await phase_and_volume(stage, "none") == ("Pending", "")


async def test_other_provisioners_are_left_to_provision(stage: WorkloadCluster) -> None:
    await class_(stage, provisioner="example.com/disk")
    await claim(stage, storageClassName="fast")
    notes = (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["metadata"]["annotations"]
    assert notes["volume.kubernetes.io/storage-provisioner"] == "example.com/disk"
    assert await events(stage, "data") == ["ExternalProvisioning"]
    assert await phase_and_volume(stage) == ("Pending", "")


async def test_a_claim_that_waits_for_its_first_consumer_is_bound_when_it_knows_the_node(stage: WorkloadCluster) -> None:
    await class_(stage, volumeBindingMode="WaitForFirstConsumer")
    await claim(stage, storageClassName="fast")
    assert await phase_and_volume(stage) == ("Pending", "")
    assert await events(stage, "data") == ["WaitForFirstConsumer"]
    await stage.change(
        PERSISTENT_VOLUME_CLAIMS, "data", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}}
    )
    state, name = await phase_and_volume(stage)
    assert state == "Bound"
    [term] = (await found(stage, name))["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["node-1"]


async def test_pv_1_a_volume_without_a_claim_is_available(stage: WorkloadCluster) -> None:
    await volume(stage)
    await volume(stage, "kept", claimRef={"namespace": NAMESPACE, "name": "nobody"})
    assert await phase(stage) == "Available"
    assert await phase(stage, "kept") == "Available"


async def test_pv_2_a_missing_claim_is_read_from_the_server_before_it_counts_as_gone(stage: WorkloadCluster) -> None:
    with stage.server.line.hold_events("persistentvolumeclaims"):
        await claim(stage, volumeName="v")
        uid = (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["metadata"]["uid"]
        await volume(stage, claimRef={"namespace": NAMESPACE, "name": "data", "uid": uid}, persistentVolumeReclaimPolicy="Delete")
        assert await phase(stage) == "Bound"
    await stage.settle()
    assert await phase_and_volume(stage) == ("Bound", "v")


async def test_pv_10_pv_12_a_volume_that_was_bound_again_is_not_deleted(stage: WorkloadCluster) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Failed"  # it is tried again
    with stage.server.line.hold_events("persistentvolumes"):
        freed = {"metadata": {"annotations": {PROVISIONED_BY: "probate.dev/hostpath"}}, "spec": {"claimRef": None}}
        await stage.client.patch(PERSISTENT_VOLUMES, "", "v", change=freed)
        await stage.pass_time(100)
        assert "deletionTimestamp" not in (await found(stage))["metadata"]
    await stage.settle()
    assert await phase(stage) == "Available"


async def test_pv_10_a_volume_that_was_bound_again_is_not_recycled(stage: WorkloadCluster) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Recycle")
    await claim(stage)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    await stage.create(PODS, "a", {"containers": [{"name": "c", "image": "x"}], "volumes": volumes})
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    with stage.server.line.hold_events("persistentvolumes"):
        await stage.client.patch(PERSISTENT_VOLUMES, "", "v", change={"spec": {"claimRef": None}})
        await stage.delete(PODS, "a")
    await stage.settle()
    assert await phase(stage) == "Available"
    assert "VolumeRecycled" not in await events(stage, "v")


async def test_pv_3_another_claim_of_the_same_name_does_not_count(stage: WorkloadCluster) -> None:
    await claim(stage)
    await volume(stage, claimRef={"namespace": NAMESPACE, "name": "data", "uid": "of-an-older-claim"})
    assert await phase(stage) == "Released"
    assert await phase_and_volume(stage) == ("Pending", "")


async def test_pv_4_pv_8_retain_keeps_the_volume_and_its_claim(stage: WorkloadCluster) -> None:
    await volume(stage)
    await claim(stage)
    uid = (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["metadata"]["uid"]
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Released"
    await stage.pass_time(1000)
    assert (await found(stage))["spec"]["claimRef"]["uid"] == uid


async def test_pv_5_a_volume_whose_claim_has_another_is_released(stage: WorkloadCluster) -> None:
    await volume(stage, "a", "1Gi")
    await claim(stage)
    bound = await found(stage, "a")
    await volume(stage, "b", "2Gi", claimRef=bound["spec"]["claimRef"], annotations={BOUND_BY_US: "yes"})
    assert await phase(stage, "b") == "Available"
    assert "claimRef" not in (await found(stage, "b"))["spec"]
    await volume(stage, "c", "2Gi", claimRef=bound["spec"]["claimRef"])
    assert (await found(stage, "c"))["spec"]["claimRef"].get("uid") is None
    assert (await found(stage, "c"))["spec"]["claimRef"]["name"] == "data"


async def test_pv_5_a_provisioned_volume_whose_claim_has_another_is_deleted(stage: WorkloadCluster) -> None:
    await volume(stage, "a", "1Gi")
    await claim(stage)
    reference = (await found(stage, "a"))["spec"]["claimRef"]
    notes = {PROVISIONED_BY: "probate.dev/hostpath"}
    await volume(stage, "b", claimRef=reference, annotations=notes, persistentVolumeReclaimPolicy="Delete")
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "b") is None


async def test_pv_6_a_claim_whose_volume_is_gone_is_lost(stage: WorkloadCluster) -> None:
    await volume(stage)
    await claim(stage)
    await stage.client.patch(PERSISTENT_VOLUMES, "", "v", change={"metadata": {"finalizers": None}})
    await stage.client.delete(PERSISTENT_VOLUMES, "", "v")
    await stage.settle()
    assert (await phase_and_volume(stage))[0] == "Lost"
    assert "ClaimLost" in await events(stage, "data")


async def test_pv_7_a_bound_volume_that_is_deleted_stays_until_its_claim_is_gone(stage: WorkloadCluster) -> None:
    await volume(stage)
    await claim(stage)
    await stage.client.delete(PERSISTENT_VOLUMES, "", "v")
    await stage.settle()
    assert await phase(stage) == "Bound"
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is None


@pytest.mark.parametrize("policy", ["Delete", "Recycle"])
async def test_pv_8_a_volume_that_was_migrated_is_left_alone(stage: WorkloadCluster, policy: str) -> None:
    await volume(stage, persistentVolumeReclaimPolicy=policy, annotations={"pv.kubernetes.io/migrated-to": "example.com"})
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Released"


async def test_pv_14_delete_removes_the_volume(stage: WorkloadCluster) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is None


async def test_reclaim_is_the_same_when_the_volume_is_deleted_before_its_claim(stage: WorkloadCluster) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.client.delete(PERSISTENT_VOLUMES, "", "v")
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert "VolumeFailedDelete" in await events(stage, "v")


async def test_pv_13_a_volume_that_cannot_be_deleted_is_failed_and_retried(stage: WorkloadCluster) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    failed = (await found(stage))["status"]
    assert (failed["phase"], "/data" in failed["message"]) == ("Failed", True)
    assert await events(stage, "v") == ["VolumeFailedDelete"]
    await stage.client.patch(
        PERSISTENT_VOLUMES, "", "v", change={"metadata": {"annotations": {PROVISIONED_BY: "probate.dev/hostpath"}}}
    )
    await stage.pass_time(1)
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is None


async def test_pv_9_failures_back_off(stage: WorkloadCluster) -> None:
    await volume(stage, path="/data", persistentVolumeReclaimPolicy="Delete")
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")

    async def failures() -> float:
        shown = (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()
        [line] = [one for one in shown.splitlines() if one.startswith("volume_operation_errors_total{")]
        return float(line.rpartition(" ")[2])

    first = await failures()
    await stage.pass_time(100)
    assert first < await failures() <= first + 9


async def test_pv_11_other_provisioners_are_left_to_delete(stage: WorkloadCluster) -> None:
    """The volume stays as it is until its provisioner deletes it. (PV-15)"""
    notes = {PROVISIONED_BY: "example.com/disk"}
    await volume(stage, persistentVolumeReclaimPolicy="Delete", annotations=notes)
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Released"


async def test_pv_11_a_volume_that_no_plugin_knows_has_failed(stage: WorkloadCluster) -> None:
    notes = {PROVISIONED_BY: "kubernetes.io/unknown"}
    await volume(stage, persistentVolumeReclaimPolicy="Delete", annotations=notes)
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Failed"


async def test_pv_16_in_tree_volumes_have_a_finalizer_until_they_are_deleted(stage: WorkloadCluster) -> None:
    notes = {PROVISIONED_BY: "kubernetes.io/host-path"}
    await volume(stage, persistentVolumeReclaimPolicy="Delete", annotations=notes)
    await volume(stage, "retained", annotations=notes)
    await volume(stage, "others", persistentVolumeReclaimPolicy="Delete", annotations={PROVISIONED_BY: "example.com/disk"})
    assert "kubernetes.io/pv-controller" in (await found(stage))["metadata"]["finalizers"]
    assert "kubernetes.io/pv-controller" not in (await found(stage, "retained"))["metadata"]["finalizers"]
    assert "kubernetes.io/pv-controller" not in (await found(stage, "others"))["metadata"]["finalizers"]
    await claim(stage, volumeName="v")
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is None


@pytest.mark.parametrize("source", [{}, {"hostPath": None, "nfs": {"server": "s", "path": "/x"}}])
async def test_pv_18_recycle_makes_the_volume_available_again(stage: WorkloadCluster, source: Object) -> None:
    """At once, since no recycler pod has to run: PV-19 says how long that may take."""
    await volume(stage, persistentVolumeReclaimPolicy="Recycle", **source)
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Available"
    assert "claimRef" not in (await found(stage))["spec"]
    assert "VolumeRecycled" in await events(stage, "v")
    await claim(stage, "next")
    assert await phase_and_volume(stage, "next") == ("Bound", "v")


async def test_pv_18_a_volume_that_no_plugin_can_recycle_has_failed(stage: WorkloadCluster) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Recycle", gcePersistentDisk={"pdName": "x"}, hostPath=None)
    await claim(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Failed"
    assert "VolumeFailedRecycle" in await events(stage, "v")


async def test_pv_17_a_volume_is_not_recycled_while_a_pod_uses_it(stage: WorkloadCluster) -> None:
    await volume(stage, persistentVolumeReclaimPolicy="Recycle")
    await claim(stage)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    await stage.create(PODS, "a", {"containers": [{"name": "c", "image": "x"}], "volumes": volumes})
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await phase(stage) == "Released"
    assert await events(stage, "v") == ["VolumeFailedRecycle"]
    await stage.delete(PODS, "a")
    assert await phase(stage) == "Available"


async def test_simulated_nodes_come_with_a_class_and_pods_with_claims_run() -> None:
    async with workload_cluster(*CONTROLLERS, "scheduler", "nodes", "simulator", nodes=1) as stage:
        await claim(stage, storageClassName=None)
        assert (await phase_and_volume(stage))[0] == "Bound"
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        await stage.create(PODS, "a", {"containers": [{"name": "c", "image": "x"}], "volumes": volumes})
        await stage.pass_time(1)
        assert (await stage.get(PODS, "a"))["status"]["phase"] == "Running"


async def test_metrics_of_bound_volumes_and_claims(stage: WorkloadCluster) -> None:
    await volume(stage)
    await volume(stage, "free")
    await claim(stage)
    shown = (await stage.server.request("GET", "/metrics", accept="text/plain")).body.decode()
    for line in (
        "bound_pv_count 1.0",
        "unbound_pv_count 1.0",
        "bound_pvc_count 1.0",
        "unbound_pvc_count 0.0",
        "total_pv_count 2.0",
    ):
        assert f"pv_collector_{line}" in shown


CSI = {"driver": "d.example.com", "volumeHandle": "h"}


async def test_binding_a_claim_sets_its_current_attributes_class(stage: WorkloadCluster) -> None:
    await volume(stage, "plain")
    await volume(stage, "gold", path="", hostPath=None, csi=CSI, volumeAttributesClassName="gold")
    await claim(stage, volumeAttributesClassName="gold")
    assert await phase_and_volume(stage) == ("Bound", "gold")
    status = (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["status"]
    assert status["currentVolumeAttributesClassName"] == "gold"


async def test_a_claim_without_an_attributes_class_does_not_get_a_volume_with_one(stage: WorkloadCluster) -> None:
    await volume(stage, "gold", path="", hostPath=None, csi=CSI, volumeAttributesClassName="gold")
    await claim(stage)
    assert await phase_and_volume(stage) == ("Pending", "")


async def test_a_change_of_the_requested_attributes_class_leaves_the_current_one_to_the_driver(stage: WorkloadCluster) -> None:
    await class_(stage)
    await claim(stage, storageClassName="fast", volumeAttributesClassName="gold")
    assert (await phase_and_volume(stage))[0] == "Bound"
    await stage.change(PERSISTENT_VOLUME_CLAIMS, "data", {"spec": {"volumeAttributesClassName": "silver"}})
    assert (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["status"]["currentVolumeAttributesClassName"] == "gold"
    await stage.change(PERSISTENT_VOLUME_CLAIMS, "data", {"status": {"currentVolumeAttributesClassName": "silver"}}, part="status")
    assert (await stage.get(PERSISTENT_VOLUME_CLAIMS, "data"))["status"]["currentVolumeAttributesClassName"] == "silver"
