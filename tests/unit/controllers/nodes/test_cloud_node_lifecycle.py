"""Nodes whose machines are gone or shut down."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.api.objects import Object
from probate.client.resources import NODES
from support.workload_cluster import WorkloadCluster, workload_cluster

SHUT_DOWN = "node.cloudprovider.kubernetes.io/shutdown"


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("machines") as one:
        yield one


def status(ready: str) -> Object:
    return {"conditions": [{"type": "Ready", "status": ready, "reason": "", "message": ""}]}


async def taints(stage: WorkloadCluster, name: str) -> list[str]:
    found = await stage.client.get(NODES, "", name)
    assert found is not None
    return [one["key"] for one in found["spec"].get("taints") or []]


@pytest.mark.parametrize("ready", ["False", "Unknown", ""])
async def test_cnl_2_cnl_3_a_node_that_is_not_ready_and_whose_machine_is_gone_is_deleted(
    stage: WorkloadCluster, ready: str
) -> None:
    await stage.node("one", status=status(ready) if ready else {"conditions": []}, annotations={"probate.dev/machine": "gone"})
    assert await stage.client.get(NODES, "", "one") is None
    assert ("DeletingNode", "Deleting node one because its machine does not exist") in await stage.event_messages("one")


async def test_cnl_2_a_node_without_the_annotation_stays(stage: WorkloadCluster) -> None:
    await stage.node("one", status=status("Unknown"))
    await stage.node("two", status=status("Unknown"), annotations={"probate.dev/machine": "who knows"})
    assert (await taints(stage, "one"), await taints(stage, "two")) == ([], [])


async def test_cnl_1_a_node_that_is_ready_is_never_deleted(stage: WorkloadCluster) -> None:
    await stage.node("one", annotations={"probate.dev/machine": "gone"})
    assert await stage.client.get(NODES, "", "one") is not None
    await stage.client.patch(NODES, "", "one", change={"status": status("Unknown")}, subresource="status")
    await stage.settle()
    assert await stage.client.get(NODES, "", "one") is None


async def test_cnl_4_a_node_whose_machine_is_off_is_unschedulable_until_it_is_ready(stage: WorkloadCluster) -> None:
    await stage.node("one", status=status("Unknown"), annotations={"probate.dev/machine": "off"})
    assert await taints(stage, "one") == [SHUT_DOWN]
    await stage.client.patch(NODES, "", "one", change={"status": status("True")}, subresource="status")
    await stage.settle()
    assert await taints(stage, "one") == []
