"""FlowSchemas say whether the level that they name is there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.client.objects import Kind
from support.workload_cluster import Object, Stage, condition, staged

SCHEMAS = Kind("flowcontrol.apiserver.k8s.io", "v1", "flowschemas")
LEVELS = Kind("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations")
LEVEL = {"metadata": {"name": "slow"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("flowschemas") as one:
        yield one


def schema(level: str) -> Object:
    spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": 50}
    return {"metadata": {"name": "x"}, "spec": spec}


async def told(stage: Stage) -> tuple[str, str]:
    await stage.settle()
    found = condition(await stage.client.get(SCHEMAS, "", "x") or {}, "Dangling")
    return found["status"], found["reason"]


async def test_it_follows_the_level(stage: Stage) -> None:
    await stage.client.create(SCHEMAS, "", schema("slow"))
    assert await told(stage) == ("True", "NotFound")
    await stage.client.create(LEVELS, "", LEVEL)
    assert await told(stage) == ("False", "Found")
    await stage.client.delete(LEVELS, "", "slow")
    assert await told(stage) == ("True", "NotFound")


async def test_it_follows_what_is_named(stage: Stage) -> None:
    await stage.client.create(LEVELS, "", LEVEL)
    await stage.client.create(SCHEMAS, "", schema("slow"))
    assert await told(stage) == ("False", "Found")
    await stage.client.patch(SCHEMAS, "", "x", {"spec": schema("slower")["spec"]})
    assert await told(stage) == ("True", "NotFound")
    await stage.client.patch(SCHEMAS, "", "x", {"spec": schema("slowest")["spec"]})
    assert await told(stage) == ("True", "NotFound")
    found = condition(await stage.client.get(SCHEMAS, "", "x") or {}, "Dangling")
    assert "slowest" in found["message"]


async def test_conditions_of_others_stay(stage: Stage) -> None:
    await stage.client.create(SCHEMAS, "", schema("slow"))
    other = {"type": "Other", "status": "True", "reason": "a", "message": "b", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await stage.client.patch(SCHEMAS, "", "x", {"status": {"conditions": [other]}}, "status")
    assert await told(stage) == ("True", "NotFound")
    assert condition(await stage.client.get(SCHEMAS, "", "x") or {}, "Other") == other
