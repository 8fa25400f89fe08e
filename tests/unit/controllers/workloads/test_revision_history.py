"""DEP-2 and DEP-3: which old ReplicaSets of a Deployment are kept."""

from __future__ import annotations

from typing import Any

from probate.controllers.workloads.deployments import revision_history
from probate.controllers.workloads.deployments.replica_sets import ReplicaSets
from support.workload_cluster import DEPLOYMENTS, REPLICA_SETS, WorkloadCluster, name_of, replicas_of, template, workload_cluster

REVISION = "deployment.kubernetes.io/revision"
LIMIT = 2**31 - 1


def member(name: str, revision: str | None, *, age: int = 0, **properties: Any) -> dict[str, Any]:
    values = {"size": 0, "replicas": 0, "generation": 1, "observed": 1, "is_deleting": False, **properties}
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if values["is_deleting"] else {}
    created = {"creationTimestamp": f"2026-01-01T00:00:{59 - age:02d}Z", "generation": values["generation"]}
    annotations = {} if revision is None else {"annotations": {REVISION: revision}}
    return {
        "metadata": {"name": name, **created, **annotations, **deletion},
        "spec": {"replicas": values["size"]},
        "status": {"replicas": values["replicas"], "observedGeneration": values["observed"]},
    }


def deleted(limit: int | None, *old: dict[str, Any]) -> list[str]:
    deployment = {"spec": {} if limit is None else {"revisionHistoryLimit": limit}}
    return [
        name_of(replica_set)
        for replica_set in revision_history.replica_sets_to_delete(deployment, ReplicaSets(member("new", "99"), list(old)))
    ]


def test_dep_2_without_a_limit_all_are_kept() -> None:
    many = [member(f"m{number}", str(number)) for number in range(20)]
    assert deleted(None, *many) == deleted(LIMIT, *many) == []
    assert len(deleted(0, *many)) == 20
    assert len(deleted(10, *many)) == 10


def test_dep_3_deletion_order_is_revision_then_age_then_name() -> None:
    assert deleted(1, member("ten", "10"), member("nine", "9")) == ["nine"]
    assert deleted(1, member("young", None, age=1), member("old", None, age=5)) == ["old"]
    assert deleted(1, member("young", "3", age=1), member("old", "nonsense", age=5)) == ["old"]
    assert deleted(1, member("b", "3"), member("a", "3")) == ["a"]


def test_dep_3_replica_set_in_use_is_kept_and_no_other_is_deleted_in_its_place() -> None:
    spare = member("spare", "7")
    for busy in (
        member("kept", "1", size=1),
        member("kept", "1", replicas=1),
        member("kept", "1", generation=2),
    ):
        assert deleted(1, busy, spare) == []
        assert deleted(0, busy, spare) == ["spare"]


def test_dep_3_deleting_replica_sets_do_not_count() -> None:
    assert deleted(1, member("dying", "1", is_deleting=True), member("two", "2")) == []
    assert deleted(1, member("dying", "1", is_deleting=True), member("two", "2"), member("three", "3")) == ["two"]


async def roll_out(cluster: WorkloadCluster, image: str) -> None:
    await cluster.change(DEPLOYMENTS, "web", {"spec": {"template": template(image=image)}}, lists=True)
    for _ in range(5):
        await cluster.run(*await cluster.pods())


async def test_dep_3_cleanup_waits_until_the_rollout_is_complete() -> None:
    async with workload_cluster("replicasets", "deployments") as cluster:
        await cluster.create(DEPLOYMENTS, "web", replicas_of(1, revisionHistoryLimit=1))
        for image in ("one", "two", "three"):
            await roll_out(cluster, image)
        assert sorted(await images(cluster)) == ["three", "two"]
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"template": template(image="four")}}, lists=True)
        assert sorted(await images(cluster)) == ["four", "three", "two"]
        await cluster.run(*await cluster.pods())
        assert sorted(await images(cluster)) == ["four", "three"]


async def test_dep_3_paused_deployment_deletes_old_replica_sets_too() -> None:
    async with workload_cluster("replicasets", "deployments") as cluster:
        await cluster.create(DEPLOYMENTS, "web", replicas_of(1))
        for image in ("one", "two", "three"):
            await roll_out(cluster, image)
        assert len(await images(cluster)) == 3
        await cluster.change(DEPLOYMENTS, "web", {"spec": {"paused": True, "revisionHistoryLimit": 0}})
        assert await images(cluster) == ["three"]


async def images(cluster: WorkloadCluster) -> list[str]:
    return [replica_set["spec"]["template"]["spec"]["containers"][0]["image"] for replica_set in await cluster.all(REPLICA_SETS)]
