"""Simulated nodes register, report their status, and renew their Leases."""

from __future__ import annotations

import math
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import Client
from probate.client.resources import LEASES, NODES
from probate.server.local_transport import LocalTransport
from probate.settings import Settings
from probate.store.sqlite import store as sqlite
from support.virtual_time_server import VirtualTimeServer
from support.workload_cluster import WorkloadCluster, condition, workload_cluster

LEASE_NAMESPACE = "kube-node-lease"


async def lease_of(cluster: WorkloadCluster, node: str) -> Object | None:
    return await cluster.client.get(LEASES, LEASE_NAMESPACE, node)


async def renew_time(cluster: WorkloadCluster, node: str) -> str:
    lease = await lease_of(cluster, node)
    assert lease is not None
    time: str = lease["spec"]["renewTime"]
    return time


async def test_nodes_register_as_simulated_and_are_ready() -> None:
    async with workload_cluster("simulator", nodes=3) as cluster:
        nodes = (await cluster.client.list(NODES)).items
    assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-2", "node-3"]
    assert {node["metadata"]["labels"]["probate.dev/simulated"] for node in nodes} == {"true"}
    assert {condition(node, "Ready")["status"] for node in nodes} == {"True"}
    assert {node["status"]["capacity"]["pods"] for node in nodes} == {"1020"}
    assert len({node["spec"]["podCIDR"] for node in nodes}) == 3
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 3


async def test_no_nodes_without_the_setting() -> None:
    async with workload_cluster("simulator") as cluster:
        assert (await cluster.client.list(NODES)).items == []


async def test_lease_1_lease_is_renewed_every_ten_seconds() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        first = await renew_time(cluster, "node-1")
        lease = await lease_of(cluster, "node-1")
        assert lease is not None
        assert lease["spec"]["leaseDurationSeconds"] == 40
        assert lease["spec"]["holderIdentity"] == "node-1"
        await cluster.pass_time(9.9)
        assert await renew_time(cluster, "node-1") == first
        await cluster.pass_time(0.1)
        second = await renew_time(cluster, "node-1")
        assert second > first
        await cluster.pass_time(10)
        assert await renew_time(cluster, "node-1") > second


async def test_lease_2_lease_is_owned_by_the_node_without_controlling_or_blocking() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        node, lease = await cluster.client.get(NODES, "", "node-1"), await lease_of(cluster, "node-1")
        assert node is not None
        assert lease is not None
        uid = node["metadata"]["uid"]
        assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": uid}]
        await cluster.client.patch(LEASES, LEASE_NAMESPACE, "node-1", change={"metadata": {"ownerReferences": []}})
        await cluster.pass_time(10)
        lease = await lease_of(cluster, "node-1")
        assert lease is not None
        assert [reference["uid"] for reference in lease["metadata"]["ownerReferences"]] == [uid]


async def test_lease_3_lease_is_deleted_and_created_with_its_node() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        await cluster.client.delete(NODES, "", "node-1")
        await cluster.pass_time(60)
        assert await lease_of(cluster, "node-1") is None
        assert await cluster.client.get(NODES, "", "node-1") is None
        labels = {"probate.dev/simulated": "true"}
        created = await cluster.client.create(NODES, "", {"metadata": {"name": "node-1", "labels": labels}})
        await cluster.pass_time(10)
        lease = await lease_of(cluster, "node-1")
        assert lease is not None
        assert lease["metadata"]["ownerReferences"][0]["uid"] == created["metadata"]["uid"]


async def test_lease_4_lease_changed_by_a_client_is_still_renewed() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        await cluster.pass_time(9)
        with cluster.server.line.hold_events("leases"):
            note = {"metadata": {"annotations": {"note": "mine"}}}
            before = await cluster.client.patch(LEASES, LEASE_NAMESPACE, "node-1", change=note)
            await cluster.pass_time(1)
        await cluster.pass_time(1)
        lease = await lease_of(cluster, "node-1")
        assert lease is not None
        assert lease["metadata"]["annotations"] == {"note": "mine"}
        assert lease["spec"]["renewTime"] > before["spec"]["renewTime"]


async def test_node_reports_its_status_every_five_minutes() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:

        async def ready_condition() -> Any:
            return condition(await cluster.client.get(NODES, "", "node-1") or {}, "Ready")

        first = await ready_condition()
        await cluster.pass_time(290)
        assert await ready_condition() == first
        await cluster.pass_time(20)
        assert (await ready_condition())["lastHeartbeatTime"] > first["lastHeartbeatTime"]
        assert (await ready_condition())["lastTransitionTime"] == first["lastTransitionTime"]


async def test_silent_node_reports_nothing_until_the_annotation_is_removed() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"annotations": {"probate.dev/silent": "true"}}})
        await cluster.settle()
        first = await renew_time(cluster, "node-1")
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": ""}
        await cluster.client.patch(NODES, "", "node-1", change={"status": {"conditions": [unknown]}}, subresource="status")
        await cluster.pass_time(60)
        assert await renew_time(cluster, "node-1") == first
        assert condition(await cluster.client.get(NODES, "", "node-1") or {}, "Ready")["status"] == "Unknown"
        await cluster.client.patch(NODES, "", "node-1", change={"metadata": {"annotations": {"probate.dev/silent": None}}})
        await cluster.settle()
        assert await renew_time(cluster, "node-1") > first
        assert condition(await cluster.client.get(NODES, "", "node-1") or {}, "Ready")["status"] == "True"


async def test_labeled_node_of_a_client_is_simulated_and_keeps_its_capacity() -> None:
    async with workload_cluster("simulator", nodes=1) as cluster:
        small = {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}
        labels = {"probate.dev/simulated": "true"}
        await cluster.client.create(NODES, "", {"metadata": {"name": "mine", "labels": labels}, "status": small})
        await cluster.client.create(NODES, "", {"metadata": {"name": "real"}})
        await cluster.settle()
        mine, real = await cluster.client.get(NODES, "", "mine"), await cluster.client.get(NODES, "", "real")
        assert condition(mine or {}, "Ready")["status"] == "True"
        assert (mine or {})["status"]["allocatable"] == {"cpu": "1"}
        assert condition(real or {}, "Ready") == {}
        assert await lease_of(cluster, "real") is None


async def test_nodes_survive_a_restart() -> None:
    store = await sqlite.open_memory()
    uids = []
    for _ in range(2):
        async with VirtualTimeServer(store, names=["simulator"], settings=Settings(nodes=2)).running() as server:
            await server.settle()
            uids.append([node["metadata"]["uid"] for node in (await Client(LocalTransport(server.api)).list(NODES)).items])
    await store.close()
    assert uids[0] == uids[1]
    assert len(uids[0]) == 2


@pytest.mark.parametrize("grace", [1.0, 2.5, 8.0, 50.0])
async def test_simulated_nodes_stay_ready_however_short_the_grace_period_is(grace: float) -> None:
    async with workload_cluster("simulator", "nodes", nodes=2, node_monitor_grace_period=grace) as cluster:
        for _ in range(20):
            await cluster.pass_time(grace / 3)
            nodes = (await cluster.client.list(NODES)).items
            assert {condition(node, "Ready")["status"] for node in nodes} == {"True"}
            assert not any(node["spec"].get("taints") for node in nodes)
        lease = await lease_of(cluster, "node-1")
        assert lease is not None
        assert lease["spec"]["leaseDurationSeconds"] == min(40, math.ceil(grace))
