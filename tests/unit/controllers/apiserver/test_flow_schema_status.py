"""The Dangling condition of FlowSchemas."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from support.workload_cluster import WorkloadCluster, condition, workload_cluster

SCHEMAS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas")
LEVELS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations")
LEVEL = {"metadata": {"name": "slow"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}}


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("flowschemas") as one:
        yield one


def schema(level: str) -> Object:
    spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": 50}
    return {"metadata": {"name": "x"}, "spec": spec}


async def dangling_condition(stage: WorkloadCluster) -> tuple[str, str]:
    await stage.settle()
    found = condition(await stage.client.get(SCHEMAS, "", "x") or {}, "Dangling")
    return found["status"], found["reason"]


async def test_condition_follows_the_priority_level(stage: WorkloadCluster) -> None:
    await stage.client.create(SCHEMAS, "", schema("slow"))
    assert await dangling_condition(stage) == ("True", "NotFound")
    await stage.client.create(LEVELS, "", LEVEL)
    assert await dangling_condition(stage) == ("False", "Found")
    await stage.client.delete(LEVELS, "", "slow")
    assert await dangling_condition(stage) == ("True", "NotFound")


async def test_condition_follows_the_reference(stage: WorkloadCluster) -> None:
    await stage.client.create(LEVELS, "", LEVEL)
    await stage.client.create(SCHEMAS, "", schema("slow"))
    assert await dangling_condition(stage) == ("False", "Found")
    await stage.client.patch(SCHEMAS, "", "x", change={"spec": schema("slower")["spec"]})
    assert await dangling_condition(stage) == ("True", "NotFound")
    await stage.client.patch(SCHEMAS, "", "x", change={"spec": schema("slowest")["spec"]})
    assert await dangling_condition(stage) == ("True", "NotFound")
    found = condition(await stage.client.get(SCHEMAS, "", "x") or {}, "Dangling")
    assert "slowest" in found["message"]


async def test_conditions_of_others_stay(stage: WorkloadCluster) -> None:
    await stage.client.create(SCHEMAS, "", schema("slow"))
    other = {"type": "Other", "status": "True", "reason": "a", "message": "b", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await stage.client.patch(SCHEMAS, "", "x", change={"status": {"conditions": [other]}}, subresource="status")
    assert await dangling_condition(stage) == ("True", "NotFound")
    assert condition(await stage.client.get(SCHEMAS, "", "x") or {}, "Other") == other
