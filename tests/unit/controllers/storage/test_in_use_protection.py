"""Volumes and claims in use stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from probate.client.objects import Client
from probate.client.resources import CLAIMS, VOLUMES
from probate.client.transport import Reply
from probate.controllers.storage.in_use_protection import ATTRIBUTES, Lists
from probate.controllers.workloads.owner_kinds import PODS
from probate.core import errors
from probate.server.context import Api
from probate.server.local_transport import Local
from support.workload_cluster import NAMESPACE, Object, Stage, staged

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("volumeprotection", "claimprotection", "attributeprotection") as one:
        yield one


async def volume(stage: Stage, phase: str) -> None:
    await stage.client.create(VOLUMES, "", {"metadata": {"name": "v"}, "spec": VOLUME})
    await stage.client.patch(VOLUMES, "", "v", {"status": {"phase": phase}}, "status")
    await stage.client.delete(VOLUMES, "", "v")
    await stage.settle()


@pytest.mark.parametrize("phase", ["Available", "Released", "Failed", "Pending"])
async def test_pvp_1_a_volume_that_is_not_bound_goes(stage: Stage, phase: str) -> None:
    await volume(stage, phase)
    assert await stage.client.get(VOLUMES, "", "v") is None


async def test_pvp_1_a_bound_volume_goes_when_it_is_bound_no_more(stage: Stage) -> None:
    await volume(stage, "Bound")
    assert await stage.client.get(VOLUMES, "", "v") is not None
    await stage.client.patch(VOLUMES, "", "v", {"status": {"phase": "Released"}}, "status")
    await stage.settle()
    assert await stage.client.get(VOLUMES, "", "v") is None


@pytest.mark.parametrize(("kind", "namespace", "spec"), [(VOLUMES, "", VOLUME), (CLAIMS, NAMESPACE, CLAIM)])
async def test_what_has_no_protection_gets_it(stage: Stage, kind: Any, namespace: str, spec: Object) -> None:
    await stage.client.create(kind, namespace, {"metadata": {"name": "v"}, "spec": spec})
    await stage.client.patch(kind, namespace, "v", {"metadata": {"finalizers": None}})
    await stage.settle()
    [finalizer] = (await stage.client.get(kind, namespace, "v") or {})["metadata"]["finalizers"]
    assert finalizer.endswith("-protection")


async def pod(stage: Stage, node: str = "node", **spec: Any) -> Object:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    named = {"nodeName": node} if node else {}
    return await stage.make(PODS, "a", {"containers": [{"name": "c", "image": "one"}], "volumes": volumes, **named, **spec})


async def test_pvc_5_a_claim_that_nobody_uses_goes_at_once(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    await stage.delete(CLAIMS, "data")
    assert await stage.find(CLAIMS, "data") is None


async def test_pvc_4_a_claim_stays_while_a_pod_uses_it_even_one_that_has_ended(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    made = await pod(stage)
    await stage.delete(CLAIMS, "data")
    assert await stage.find(CLAIMS, "data") is not None
    await stage.end(made)
    assert await stage.find(CLAIMS, "data") is not None
    await stage.delete(PODS, "a")
    assert await stage.find(CLAIMS, "data") is None


async def test_pvc_4_a_pod_without_a_node_does_not_use_it(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    await pod(stage, node="")
    await stage.delete(CLAIMS, "data")
    assert await stage.find(CLAIMS, "data") is None


async def test_pvc_4_a_claim_made_for_a_pod_counts_only_if_the_pod_owns_it(stage: Stage) -> None:
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}]
    made = await pod(stage, volumes=volumes)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made["metadata"]["uid"], "controller": True}
    await stage.make(CLAIMS, "a-v", CLAIM, ownerReferences=[owner])
    await stage.delete(CLAIMS, "a-v")
    assert await stage.find(CLAIMS, "a-v") is not None
    await stage.delete(PODS, "a", grace=0)
    assert await stage.find(CLAIMS, "a-v") is None
    await pod(stage, volumes=volumes)
    other = await stage.pod("other")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": other["metadata"]["uid"], "controller": True}
    await stage.make(CLAIMS, "a-v", CLAIM, ownerReferences=[owner])
    await stage.delete(CLAIMS, "a-v")
    assert await stage.find(CLAIMS, "a-v") is None


async def test_pvc_1_a_claim_of_a_pod_that_another_has_taken_the_place_of_goes(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    await pod(stage)
    await stage.delete(CLAIMS, "data")
    with stage.cluster.line.losing("pods"):  # nobody is told that the first one went
        await stage.delete(PODS, "a", grace=0)
        await pod(stage, volumes=[])
        assert await stage.find(CLAIMS, "data") is not None
    await stage.pass_time(1)
    assert await stage.find(CLAIMS, "data") is None


async def test_pvc_1_news_of_a_pod_that_runs_concerns_no_claim(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    made = await pod(stage)
    await stage.delete(CLAIMS, "data")
    stage.cluster.line.asked.clear()
    await stage.run(made)
    assert stage.cluster.line.asked == []


def lists(stage: Stage) -> list[str]:
    return [one for one in stage.cluster.line.asked if one == f"GET /api/v1/namespaces/{NAMESPACE}/pods"]


async def test_pvc_3_a_user_that_is_known_is_enough_and_else_the_server_is_asked(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    await stage.make(CLAIMS, "other", CLAIM)
    await pod(stage)
    await stage.delete(CLAIMS, "data")
    assert (len(lists(stage)), await stage.find(CLAIMS, "data") is not None) == (0, True)
    with stage.cluster.line.holding("pods"):
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}]
        spec = {"containers": [{"name": "c", "image": "one"}], "nodeName": "node", "volumes": volumes}
        await stage.make(PODS, "unheard-of", spec)
        await stage.delete(CLAIMS, "other")
        assert (len(lists(stage)), await stage.find(CLAIMS, "other") is not None) == (1, True)


async def test_pvc_3_a_claim_stays_while_nobody_can_say_who_uses_it(stage: Stage) -> None:
    await stage.make(CLAIMS, "data", CLAIM)
    with stage.cluster.line.refusing(f"GET /api/v1/namespaces/{NAMESPACE}/pods", errors.StoreUnavailable("not now")):
        await stage.delete(CLAIMS, "data")
        await stage.pass_time(5)
        assert await stage.find(CLAIMS, "data") is not None
    await stage.pass_time(60)
    assert await stage.find(CLAIMS, "data") is None


class Counting:
    """Carries requests to a server, and counts those for lists."""

    def __init__(self, api: Api) -> None:
        self._local, self.stream = Local(api), Local(api).stream
        self.number = 0

    async def send(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> Reply:
        self.number += method == "GET"
        return await self._local.send(method, path, query, body, media)


async def test_pvc_2_who_asks_for_the_pods_of_a_namespace_at_the_same_time_shares_one_answer(stage: Stage) -> None:
    counting = Counting(stage.cluster.api)
    lists = Lists(Client(counting))
    await asyncio.gather(*(lists.of(NAMESPACE) for _ in range(30)), lists.of("kube-system"))
    assert counting.number == 2
    await pod(stage)
    assert len(await lists.of(NAMESPACE)) == 1  # a new answer: the other one is from before
    assert counting.number == 3


async def class_that_goes(stage: Stage) -> None:
    gold = {"metadata": {"name": "gold"}, "driverName": "csi.example.com", "parameters": {"iops": "9000"}}
    made = await stage.client.create(ATTRIBUTES, "", gold)
    assert made["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    await stage.settle()
    await stage.client.delete(ATTRIBUTES, "", "gold")
    await stage.settle()


async def is_there(stage: Stage) -> bool:
    return await stage.client.get(ATTRIBUTES, "", "gold") is not None


async def test_class_of_volume_attributes_that_nobody_names_goes_at_once(stage: Stage) -> None:
    await class_that_goes(stage)
    assert not await is_there(stage)


async def test_class_of_volume_attributes_stays_while_a_claim_or_a_volume_names_it(stage: Stage) -> None:
    await stage.make(CLAIMS, "a", {**CLAIM, "volumeAttributesClassName": "gold"})
    await stage.make(CLAIMS, "b", CLAIM)
    await stage.change(CLAIMS, "b", {"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}}, "status")
    csi = {"driver": "csi.example.com", "volumeHandle": "h"}
    spec = {name: value for name, value in VOLUME.items() if name != "hostPath"}
    of_class = {**spec, "csi": csi, "volumeAttributesClassName": "gold"}
    await stage.client.create(VOLUMES, "", {"metadata": {"name": "v"}, "spec": of_class})
    await class_that_goes(stage)
    await stage.delete(CLAIMS, "a")
    assert await is_there(stage)
    await stage.change(CLAIMS, "b", {"status": {"modifyVolumeStatus": None}}, "status")
    assert await is_there(stage)
    await stage.client.delete(VOLUMES, "", "v")
    await stage.settle()
    assert not await is_there(stage)
