"""Volumes, claims and VolumeAttributesClasses in use are not removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import Client
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from probate.client.transport import Reply
from probate.controllers.storage.in_use_protection import ATTRIBUTES_CLASSES, PodLists
from probate.controllers.workloads.owner_kinds import PODS
from probate.core import errors
from probate.server.context import ServerContext
from probate.server.local_transport import LocalTransport
from support.workload_cluster import NAMESPACE, WorkloadCluster, workload_cluster

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("volumeprotection", "claimprotection", "attributeprotection") as one:
        yield one


async def volume(stage: WorkloadCluster, phase: str) -> None:
    await stage.client.create(PERSISTENT_VOLUMES, "", {"metadata": {"name": "v"}, "spec": VOLUME})
    await stage.client.patch(PERSISTENT_VOLUMES, "", "v", change={"status": {"phase": phase}}, subresource="status")
    await stage.client.delete(PERSISTENT_VOLUMES, "", "v")
    await stage.settle()


@pytest.mark.parametrize("phase", ["Available", "Released", "Failed", "Pending"])
async def test_pvp_1_an_unbound_volume_is_removed(stage: WorkloadCluster, phase: str) -> None:
    await volume(stage, phase)
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is None


async def test_pvp_1_a_bound_volume_is_removed_once_it_is_unbound(stage: WorkloadCluster) -> None:
    await volume(stage, "Bound")
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is not None
    await stage.client.patch(PERSISTENT_VOLUMES, "", "v", change={"status": {"phase": "Released"}}, subresource="status")
    await stage.settle()
    assert await stage.client.get(PERSISTENT_VOLUMES, "", "v") is None


@pytest.mark.parametrize(
    ("kind", "namespace", "spec"), [(PERSISTENT_VOLUMES, "", VOLUME), (PERSISTENT_VOLUME_CLAIMS, NAMESPACE, CLAIM)]
)
async def test_finalizer_is_added_where_it_is_missing(stage: WorkloadCluster, kind: Any, namespace: str, spec: Object) -> None:
    await stage.client.create(kind, namespace, {"metadata": {"name": "v"}, "spec": spec})
    await stage.client.patch(kind, namespace, "v", change={"metadata": {"finalizers": None}})
    await stage.settle()
    [finalizer] = (await stage.client.get(kind, namespace, "v") or {})["metadata"]["finalizers"]
    assert finalizer.endswith("-protection")


async def pod(stage: WorkloadCluster, node: str = "node", **spec: Any) -> Object:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    named = {"nodeName": node} if node else {}
    return await stage.create(PODS, "a", {"containers": [{"name": "c", "image": "one"}], "volumes": volumes, **named, **spec})


async def test_pvc_5_an_unused_claim_is_removed_at_once(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is None


async def test_pvc_4_a_claim_stays_while_a_pod_uses_it_even_a_terminated_one(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    made = await pod(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is not None
    await stage.finish(made)
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is not None
    await stage.delete(PODS, "a")
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is None


async def test_pvc_4_a_pod_without_a_node_does_not_use_it(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    await pod(stage, node="")
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is None


async def test_pvc_4_an_ephemeral_claim_counts_only_if_the_pod_owns_it(stage: WorkloadCluster) -> None:
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}]
    made = await pod(stage, volumes=volumes)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made["metadata"]["uid"], "controller": True}
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "a-v", CLAIM, ownerReferences=[owner])
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "a-v")
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "a-v") is not None
    await stage.delete(PODS, "a", grace=0)
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "a-v") is None
    await pod(stage, volumes=volumes)
    other = await stage.pod("other")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": other["metadata"]["uid"], "controller": True}
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "a-v", CLAIM, ownerReferences=[owner])
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "a-v")
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "a-v") is None


async def test_pvc_1_a_claim_of_a_replaced_pod_is_removed(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    await pod(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    with stage.server.line.lose_events("pods"):  # nobody is told that the first one went
        await stage.delete(PODS, "a", grace=0)
        await pod(stage, volumes=[])
        assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is not None
    await stage.pass_time(1)
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is None


async def test_pvc_1_status_changes_of_a_pod_enqueue_no_claim(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    made = await pod(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    stage.server.line.requests.clear()
    await stage.run(made)
    assert stage.server.line.requests == []


def lists(stage: WorkloadCluster) -> list[str]:
    return [one for one in stage.server.line.requests if one == f"GET /api/v1/namespaces/{NAMESPACE}/pods"]


async def test_pvc_3_a_cached_pod_is_enough_and_otherwise_the_server_is_asked(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "other", CLAIM)
    await pod(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    assert (len(lists(stage)), await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is not None) == (0, True)
    with stage.server.line.hold_events("pods"):
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}]
        spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": "node", "volumes": volumes}
        await stage.create(PODS, "unheard-of", spec)
        await stage.delete(PERSISTENT_VOLUME_CLAIMS, "other")
        assert (len(lists(stage)), await stage.find(PERSISTENT_VOLUME_CLAIMS, "other") is not None) == (1, True)


async def test_pvc_3_a_claim_stays_while_pods_cannot_be_listed(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "data", CLAIM)
    with stage.server.line.refuse(f"GET /api/v1/namespaces/{NAMESPACE}/pods", errors.StoreUnavailable("not now")):
        await stage.delete(PERSISTENT_VOLUME_CLAIMS, "data")
        await stage.pass_time(5)
        assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is not None
    await stage.pass_time(60)
    assert await stage.find(PERSISTENT_VOLUME_CLAIMS, "data") is None


class Counting:
    """A transport that counts list requests."""

    def __init__(self, api: ServerContext) -> None:
        self._local, self.stream = LocalTransport(api), LocalTransport(api).stream
        self.number = 0

    async def send(self, method: str, path: str, *, query: Mapping[str, str], body: bytes, media: str) -> Reply:
        self.number += method == "GET"
        return await self._local.send(method, path, query=query, body=body, media=media)


async def test_pvc_2_concurrent_lists_of_a_namespace_share_one_request(stage: WorkloadCluster) -> None:
    counting = Counting(stage.server.api)
    lists = PodLists(Client(counting))
    await asyncio.gather(*(lists.of(NAMESPACE) for _ in range(30)), lists.of("kube-system"))
    assert counting.number == 2
    await pod(stage)
    assert len(await lists.of(NAMESPACE)) == 1  # a new answer: the other one is from before
    assert counting.number == 3


async def delete_class(stage: WorkloadCluster) -> None:
    gold = {"metadata": {"name": "gold"}, "driverName": "csi.example.com", "parameters": {"iops": "9000"}}
    made = await stage.client.create(ATTRIBUTES_CLASSES, "", gold)
    assert made["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    await stage.settle()
    await stage.client.delete(ATTRIBUTES_CLASSES, "", "gold")
    await stage.settle()


async def exists(stage: WorkloadCluster) -> bool:
    return await stage.client.get(ATTRIBUTES_CLASSES, "", "gold") is not None


async def test_unused_attributes_class_is_removed_at_once(stage: WorkloadCluster) -> None:
    await delete_class(stage)
    assert not await exists(stage)


async def test_attributes_class_stays_while_a_claim_or_a_volume_names_it(stage: WorkloadCluster) -> None:
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "a", {**CLAIM, "volumeAttributesClassName": "gold"})
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "b", CLAIM)
    await stage.change(
        PERSISTENT_VOLUME_CLAIMS,
        "b",
        {"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}},
        part="status",
    )
    csi = {"driver": "csi.example.com", "volumeHandle": "h"}
    spec = {name: value for name, value in VOLUME.items() if name != "hostPath"}
    of_class = {**spec, "csi": csi, "volumeAttributesClassName": "gold"}
    await stage.client.create(PERSISTENT_VOLUMES, "", {"metadata": {"name": "v"}, "spec": of_class})
    await delete_class(stage)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "a")
    assert await exists(stage)
    await stage.change(PERSISTENT_VOLUME_CLAIMS, "b", {"status": {"modifyVolumeStatus": None}}, part="status")
    assert await exists(stage)
    await stage.client.delete(PERSISTENT_VOLUMES, "", "v")
    await stage.settle()
    assert not await exists(stage)
