"""DEP-2 and DEP-3: which versions of a Deployment are kept."""

from __future__ import annotations

from typing import Any

from probate.controllers.workloads.deployments import revision_history
from probate.controllers.workloads.deployments.replica_sets import Family
from support.workload_cluster import DEPLOYMENTS, REPLICA_SETS, Stage, name_of, replicas_of, staged, template

REVISION = "deployment.kubernetes.io/revision"
LIMIT = 2**31 - 1


def member(name: str, revision: str | None, *, age: int = 0, **facts: Any) -> dict[str, Any]:
    of = {"size": 0, "replicas": 0, "generation": 1, "observed": 1, "is_dying": False, **facts}
    dying = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if of["is_dying"] else {}
    created = {"creationTimestamp": f"2026-01-01T00:00:{59 - age:02d}Z", "generation": of["generation"]}
    annotations = {} if revision is None else {"annotations": {REVISION: revision}}
    return {
        "metadata": {"name": name, **created, **annotations, **dying},
        "spec": {"replicas": of["size"]},
        "status": {"replicas": of["replicas"], "observedGeneration": of["observed"]},
    }


def outdated(limit: int | None, *old: dict[str, Any]) -> list[str]:
    deployment = {"spec": {} if limit is None else {"revisionHistoryLimit": limit}}
    return [name_of(one) for one in revision_history.outdated(deployment, Family(member("new", "99"), list(old)))]


def test_dep_2_without_a_limit_all_are_kept() -> None:
    many = [member(f"m{number}", str(number)) for number in range(20)]
    assert outdated(None, *many) == outdated(LIMIT, *many) == []
    assert len(outdated(0, *many)) == 20
    assert len(outdated(10, *many)) == 10


def test_dep_3_oldest_go_first_by_number_then_by_age_then_by_name() -> None:
    assert outdated(1, member("ten", "10"), member("nine", "9")) == ["nine"]
    assert outdated(1, member("young", None, age=1), member("old", None, age=5)) == ["old"]
    assert outdated(1, member("young", "3", age=1), member("old", "nonsense", age=5)) == ["old"]
    assert outdated(1, member("b", "3"), member("a", "3")) == ["a"]


def test_dep_3_one_that_is_not_over_stays_and_none_goes_instead() -> None:
    spare = member("spare", "7")
    for kept in (
        member("kept", "1", size=1),
        member("kept", "1", replicas=1),
        member("kept", "1", generation=2),
    ):
        assert outdated(1, kept, spare) == []
        assert outdated(0, kept, spare) == ["spare"]


def test_dep_3_those_that_are_being_deleted_are_no_candidates() -> None:
    assert outdated(1, member("dying", "1", is_dying=True), member("two", "2")) == []
    assert outdated(1, member("dying", "1", is_dying=True), member("two", "2"), member("three", "3")) == ["two"]


async def roll_out(stage: Stage, image: str) -> None:
    await stage.change(DEPLOYMENTS, "web", {"spec": {"template": template(image=image)}}, lists=True)
    for _ in range(5):
        await stage.run(*await stage.pods())


async def test_dep_3_cleanup_waits_until_the_rollout_is_complete() -> None:
    async with staged("replicasets", "deployments") as stage:
        await stage.make(DEPLOYMENTS, "web", replicas_of(1, revisionHistoryLimit=1))
        for image in ("one", "two", "three"):
            await roll_out(stage, image)
        assert sorted(await images(stage)) == ["three", "two"]
        await stage.change(DEPLOYMENTS, "web", {"spec": {"template": template(image="four")}}, lists=True)
        assert sorted(await images(stage)) == ["four", "three", "two"]
        await stage.run(*await stage.pods())
        assert sorted(await images(stage)) == ["four", "three"]


async def test_dep_3_paused_deployment_cleans_up_too() -> None:
    async with staged("replicasets", "deployments") as stage:
        await stage.make(DEPLOYMENTS, "web", replicas_of(1))
        for image in ("one", "two", "three"):
            await roll_out(stage, image)
        assert len(await images(stage)) == 3
        await stage.change(DEPLOYMENTS, "web", {"spec": {"paused": True, "revisionHistoryLimit": 0}})
        assert await images(stage) == ["three"]


async def images(stage: Stage) -> list[str]:
    return [one["spec"]["template"]["spec"]["containers"][0]["image"] for one in await stage.all(REPLICA_SETS)]
