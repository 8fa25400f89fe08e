"""Claims of generic ephemeral volumes are created and collected with their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.api.objects import Object
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import WorkloadCluster, condition, name_of, owners_of, workload_cluster

SIZE: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}}, "spec": SIZE}
VOLUMES = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}, {"name": "other", "emptyDir": {}}]
SPEC: Object = {"containers": [{"name": "c", "image": "one"}], "volumes": VOLUMES}


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("ephemeralclaims", "claimprotection", "scheduler") as one:
        yield one


async def test_claim_is_created_for_the_pod_and_collected_after_it(stage: WorkloadCluster) -> None:
    pod = await stage.create(PODS, "a", SPEC)
    [claim] = await stage.all(PERSISTENT_VOLUME_CLAIMS)
    assert (name_of(claim), owners_of(claim)) == ("a-scratch", [pod["metadata"]["uid"]])
    [owner] = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("Pod", True, True)
    assert (claim["metadata"]["labels"], claim["metadata"]["annotations"]["a"]) == ({"app": "web"}, "b")
    assert claim["spec"]["resources"] == SIZE["resources"]
    await stage.delete(PODS, "a")
    assert await stage.all(PERSISTENT_VOLUME_CLAIMS) == []


async def test_deleted_claim_is_created_again(stage: WorkloadCluster) -> None:
    await stage.create(PODS, "a", SPEC)
    [first] = await stage.all(PERSISTENT_VOLUME_CLAIMS)
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "a-scratch")
    [second] = await stage.all(PERSISTENT_VOLUME_CLAIMS)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_claim_with_another_owner_is_left_alone_and_not_used(stage: WorkloadCluster) -> None:
    await stage.node("one")
    await stage.create(PERSISTENT_VOLUME_CLAIMS, "a-scratch", SIZE)
    pod = await stage.create(PODS, "a", SPEC)
    assert owners_of(await stage.get(PERSISTENT_VOLUME_CLAIMS, "a-scratch")) == []
    assert "FailedBinding" in {reason for reason, _ in await stage.event_messages("a")}
    assert "was not created for pod" in condition(await stage.get(PODS, "a"), "PodScheduled")["message"]
    await stage.delete(PERSISTENT_VOLUME_CLAIMS, "a-scratch")
    await stage.pass_time(60)
    assert owners_of(await stage.get(PERSISTENT_VOLUME_CLAIMS, "a-scratch")) == [pod["metadata"]["uid"]]
