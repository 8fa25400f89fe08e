"""Simulated nodes: they register, say that they are well, and hold their Leases."""

from __future__ import annotations

import math
from typing import Any

import pytest

from probate.client.objects import Client
from probate.client.resources import LEASES, NODES
from probate.server.local_transport import Local
from probate.settings import Settings
from probate.store.sqlite import store as sqlite
from support.virtual_time_server import Cluster
from support.workload_cluster import Object, Stage, condition, staged

NAMESPACE = "kube-node-lease"


async def lease_of(stage: Stage, node: str) -> Object | None:
    return await stage.client.get(LEASES, NAMESPACE, node)


async def renewed(stage: Stage, node: str) -> str:
    lease = await lease_of(stage, node)
    assert lease is not None
    time: str = lease["spec"]["renewTime"]
    return time


async def test_nodes_register_as_simulated_and_are_ready() -> None:
    async with staged("simulator", nodes=3) as stage:
        nodes = (await stage.client.list(NODES)).items
    assert [one["metadata"]["name"] for one in nodes] == ["node-1", "node-2", "node-3"]
    assert {one["metadata"]["labels"]["probate.dev/simulated"] for one in nodes} == {"true"}
    assert {condition(one, "Ready")["status"] for one in nodes} == {"True"}
    assert {one["status"]["capacity"]["pods"] for one in nodes} == {"1020"}
    assert len({one["spec"]["podCIDR"] for one in nodes}) == 3
    assert len({one["status"]["addresses"][0]["address"] for one in nodes}) == 3


async def test_there_are_no_nodes_unless_they_are_asked_for() -> None:
    async with staged("simulator") as stage:
        assert (await stage.client.list(NODES)).items == []


async def test_lease_1_is_renewed_every_ten_seconds() -> None:
    async with staged("simulator", nodes=1) as stage:
        first = await renewed(stage, "node-1")
        lease = await lease_of(stage, "node-1")
        assert lease is not None
        assert lease["spec"]["leaseDurationSeconds"] == 40
        assert lease["spec"]["holderIdentity"] == "node-1"
        await stage.pass_time(9.9)
        assert await renewed(stage, "node-1") == first
        await stage.pass_time(0.1)
        second = await renewed(stage, "node-1")
        assert second > first
        await stage.pass_time(10)
        assert await renewed(stage, "node-1") > second


async def test_lease_2_is_owned_by_the_node_and_neither_controls_nor_blocks_it() -> None:
    async with staged("simulator", nodes=1) as stage:
        node, lease = await stage.client.get(NODES, "", "node-1"), await lease_of(stage, "node-1")
        assert node is not None
        assert lease is not None
        uid = node["metadata"]["uid"]
        assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": uid}]
        await stage.client.patch(LEASES, NAMESPACE, "node-1", {"metadata": {"ownerReferences": []}})
        await stage.pass_time(10)
        lease = await lease_of(stage, "node-1")
        assert lease is not None
        assert [one["uid"] for one in lease["metadata"]["ownerReferences"]] == [uid]


async def test_lease_3_goes_with_its_node_and_comes_back_with_it() -> None:
    async with staged("simulator", nodes=1) as stage:
        await stage.client.delete(NODES, "", "node-1")
        await stage.pass_time(60)
        assert await lease_of(stage, "node-1") is None
        assert await stage.client.get(NODES, "", "node-1") is None
        labels = {"probate.dev/simulated": "true"}
        made = await stage.client.create(NODES, "", {"metadata": {"name": "node-1", "labels": labels}})
        await stage.pass_time(10)
        lease = await lease_of(stage, "node-1")
        assert lease is not None
        assert lease["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]


async def test_lease_4_a_lease_that_somebody_else_has_written_is_renewed_all_the_same() -> None:
    async with staged("simulator", nodes=1) as stage:
        await stage.pass_time(9)
        with stage.cluster.line.holding("leases"):
            note = {"metadata": {"annotations": {"note": "mine"}}}
            before = await stage.client.patch(LEASES, NAMESPACE, "node-1", note)
            await stage.pass_time(1)
        await stage.pass_time(1)
        lease = await lease_of(stage, "node-1")
        assert lease is not None
        assert lease["metadata"]["annotations"] == {"note": "mine"}
        assert lease["spec"]["renewTime"] > before["spec"]["renewTime"]


async def test_a_node_says_that_it_is_well_every_five_minutes() -> None:
    async with staged("simulator", nodes=1) as stage:

        async def beat() -> Any:
            return condition(await stage.client.get(NODES, "", "node-1") or {}, "Ready")

        first = await beat()
        await stage.pass_time(290)
        assert await beat() == first
        await stage.pass_time(20)
        assert (await beat())["lastHeartbeatTime"] > first["lastHeartbeatTime"]
        assert (await beat())["lastTransitionTime"] == first["lastTransitionTime"]


async def test_a_silent_node_says_nothing_until_it_may_again() -> None:
    async with staged("simulator", nodes=1) as stage:
        await stage.client.patch(NODES, "", "node-1", {"metadata": {"annotations": {"probate.dev/silent": "true"}}})
        await stage.settle()
        first = await renewed(stage, "node-1")
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": ""}
        await stage.client.patch(NODES, "", "node-1", {"status": {"conditions": [unknown]}}, "status")
        await stage.pass_time(60)
        assert await renewed(stage, "node-1") == first
        assert condition(await stage.client.get(NODES, "", "node-1") or {}, "Ready")["status"] == "Unknown"
        await stage.client.patch(NODES, "", "node-1", {"metadata": {"annotations": {"probate.dev/silent": None}}})
        await stage.settle()
        assert await renewed(stage, "node-1") > first
        assert condition(await stage.client.get(NODES, "", "node-1") or {}, "Ready")["status"] == "True"


async def test_a_node_that_somebody_made_with_the_label_is_simulated_and_keeps_its_room() -> None:
    async with staged("simulator", nodes=1) as stage:
        small = {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}
        labels = {"probate.dev/simulated": "true"}
        await stage.client.create(NODES, "", {"metadata": {"name": "mine", "labels": labels}, "status": small})
        await stage.client.create(NODES, "", {"metadata": {"name": "real"}})
        await stage.settle()
        mine, real = await stage.client.get(NODES, "", "mine"), await stage.client.get(NODES, "", "real")
        assert condition(mine or {}, "Ready")["status"] == "True"
        assert (mine or {})["status"]["allocatable"] == {"cpu": "1"}
        assert condition(real or {}, "Ready") == {}
        assert await lease_of(stage, "real") is None


async def test_nodes_are_found_again_after_a_restart() -> None:
    store = await sqlite.open_memory()
    uids = []
    for _ in range(2):
        async with Cluster(store, names=["simulator"], settings=Settings(nodes=2)).running() as cluster:
            await cluster.settle()
            uids.append([one["metadata"]["uid"] for one in (await Client(Local(cluster.api)).list(NODES)).items])
    await store.close()
    assert uids[0] == uids[1]
    assert len(uids[0]) == 2


@pytest.mark.parametrize("grace", [1.0, 2.5, 8.0, 50.0])
async def test_simulated_nodes_stay_ready_however_short_the_grace_period_is(grace: float) -> None:
    async with staged("simulator", "nodes", nodes=2, node_monitor_grace_period=grace) as stage:
        for _ in range(20):
            await stage.pass_time(grace / 3)
            nodes = (await stage.client.list(NODES)).items
            assert {condition(one, "Ready")["status"] for one in nodes} == {"True"}
            assert not any(one["spec"].get("taints") for one in nodes)
        lease = await lease_of(stage, "node-1")
        assert lease is not None
        assert lease["spec"]["leaseDurationSeconds"] == min(40, math.ceil(grace))
