"""Claims of generic ephemeral volumes: they come and go with their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.client.resources import CLAIMS
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import Object, Stage, condition, name_of, owners_of, staged

SIZE: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}}, "spec": SIZE}
VOLUMES = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}, {"name": "other", "emptyDir": {}}]
SPEC: Object = {"containers": [{"name": "c", "image": "one"}], "volumes": VOLUMES}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("ephemeralclaims", "claimprotection", "scheduler") as one:
        yield one


async def test_claim_is_made_for_the_pod_and_goes_with_it(stage: Stage) -> None:
    pod = await stage.make(PODS, "a", SPEC)
    [claim] = await stage.all(CLAIMS)
    assert (name_of(claim), owners_of(claim)) == ("a-scratch", [pod["metadata"]["uid"]])
    [owner] = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("Pod", True, True)
    assert (claim["metadata"]["labels"], claim["metadata"]["annotations"]["a"]) == ({"app": "web"}, "b")
    assert claim["spec"]["resources"] == SIZE["resources"]
    await stage.delete(PODS, "a")
    assert await stage.all(CLAIMS) == []


async def test_claim_that_somebody_deletes_is_made_again(stage: Stage) -> None:
    await stage.make(PODS, "a", SPEC)
    [first] = await stage.all(CLAIMS)
    await stage.delete(CLAIMS, "a-scratch")
    [second] = await stage.all(CLAIMS)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_claim_of_somebody_else_is_left_alone_and_not_used(stage: Stage) -> None:
    await stage.node("one")
    await stage.make(CLAIMS, "a-scratch", SIZE)
    pod = await stage.make(PODS, "a", SPEC)
    assert owners_of(await stage.get(CLAIMS, "a-scratch")) == []
    assert "FailedBinding" in {reason for reason, _ in await stage.told("a")}
    assert "was not created for pod" in condition(await stage.get(PODS, "a"), "PodScheduled")["message"]
    await stage.delete(CLAIMS, "a-scratch")
    await stage.pass_time(60)
    assert owners_of(await stage.get(CLAIMS, "a-scratch")) == [pod["metadata"]["uid"]]
