"""Deployments: from one version to the next and back, DEP-1 and DEP-4, and ReplicaSets that are being deleted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from probate.controllers.workloads.owner_kinds import PODS
from probate.controllers.workloads.pod_template import is_active, is_ready
from probate.store.contract import update
from support.workload_cluster import (
    DEPLOYMENTS,
    LABELS,
    REPLICA_SETS,
    Object,
    Stage,
    condition,
    name_of,
    owners_of,
    replicas_of,
    staged,
    template,
)

ALL = ("replicasets", "deployments")
REVISION = "deployment.kubernetes.io/revision"


def rolling(replicas: int, surge: Any = 1, unavailable: Any = 1, **spec: Any) -> Object:
    way = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return replicas_of(replicas, strategy=way, **spec)


async def new_image(stage: Stage, image: str) -> None:
    await stage.change(DEPLOYMENTS, "web", {"spec": {"template": template(image=image)}}, lists=True)


async def active(stage: Stage) -> list[Object]:
    return [pod for pod in await stage.pods() if is_active(pod)]


async def roll_out(stage: Stage) -> None:
    """All pods become ready, one after the other, until nothing changes any more."""
    while waiting := [pod for pod in await active(stage) if not is_ready(pod)]:
        await stage.run(waiting[0])


async def sizes(stage: Stage) -> dict[str, int]:
    """The sizes of the ReplicaSets, by the image of their pods."""
    found = await stage.all(REPLICA_SETS)
    return {one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"]["replicas"] for one in found}


async def replica_set(stage: Stage, image: str) -> Object:
    found = await stage.all(REPLICA_SETS)
    [one] = [one for one in found if one["spec"]["template"]["spec"]["containers"][0]["image"] == image]
    return one


async def test_new_deployment_makes_a_replica_set_of_its_name_and_template() -> None:
    async with staged(*ALL) as stage:
        deployment = await stage.make(DEPLOYMENTS, "web", rolling(3), annotations={"note": "x"})
        [made] = await stage.all(REPLICA_SETS)
        mark = made["metadata"]["labels"]["pod-template-hash"]
        assert name_of(made) == f"web-{mark}"
        assert made["spec"]["selector"]["matchLabels"] == {**LABELS, "pod-template-hash": mark}
        assert made["spec"]["template"]["metadata"]["labels"] == {**LABELS, "pod-template-hash": mark}
        [reference] = made["metadata"]["ownerReferences"]
        assert (reference["kind"], reference["uid"]) == ("Deployment", deployment["metadata"]["uid"])
        assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
        described = made["metadata"]["annotations"]
        assert described == {
            "note": "x",
            REVISION: "1",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        }
        assert all(name_of(pod).startswith(f"web-{mark}-") for pod in await stage.pods(made))
        assert len(await stage.pods(made)) == 3


async def test_status_says_what_kubectl_waits_for() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2))
        begun = await stage.get(DEPLOYMENTS, "web")
        assert begun["status"]["unavailableReplicas"] == 2
        assert condition(begun, "Available")["reason"] == "MinimumReplicasUnavailable"
        assert condition(begun, "Progressing")["status"] == "True"
        await roll_out(stage)
        done = await stage.get(DEPLOYMENTS, "web")
        counts = {name: value for name, value in done["status"].items() if name.endswith("eplicas")}
        assert counts == {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2, "terminatingReplicas": 0}
        assert done["status"]["observedGeneration"] == done["metadata"]["generation"]
        assert (condition(done, "Available")["status"], condition(done, "Progressing")["reason"]) == (
            "True",
            "NewReplicaSetAvailable",
        )
        assert done["metadata"]["annotations"][REVISION] == "1"


@pytest.mark.parametrize(("surge", "unavailable"), [(1, 1), (0, 1), (1, 0), ("50%", "25%"), (4, 4), ("100%", 0)])
async def test_rolling_update_stays_within_its_bounds_and_ends(surge: Any, unavailable: Any) -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(4, surge, unavailable))
        await roll_out(stage)
        most = 4 + (surge if isinstance(surge, int) else {"50%": 2, "100%": 4}[surge])
        least = 4 - (unavailable if isinstance(unavailable, int) else 1)
        await new_image(stage, "two")
        for _ in range(30):
            pods = await active(stage)
            assert len(pods) <= most
            assert sum(is_ready(pod) for pod in pods) >= least
            waiting = [pod for pod in pods if not is_ready(pod)]
            if not waiting:
                break
            await stage.run(waiting[0])
        assert await sizes(stage) == {"one": 0, "two": 4}
        assert condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_rolling_update_takes_pods_that_do_not_serve_first() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(4, 0, 1))
        first, second, third, broken = await active(stage)
        await stage.run(first, second, third)
        await new_image(stage, "two")
        assert await sizes(stage) == {"one": 3, "two": 1}
        assert name_of(broken) not in [name_of(pod) for pod in await stage.pods()]


async def test_recreate_begins_when_the_last_old_pod_has_ended() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", replicas_of(2, strategy={"type": "Recreate"}))
        old = await active(stage)
        await stage.bind(*old)
        await stage.run(*old)
        await new_image(stage, "two")
        assert await sizes(stage) == {"one": 0}
        await stage.delete(PODS, name_of(old[0]), grace=0)
        assert await sizes(stage) == {"one": 0}, "an old pod has not ended yet"
        await stage.delete(PODS, name_of(old[1]), grace=0)
        assert await sizes(stage) == {"one": 0, "two": 2}


async def test_recreate_does_not_wait_for_a_pod_that_has_ended_and_is_held() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", replicas_of(1, strategy={"type": "Recreate"}))
        [old] = await active(stage)
        await stage.bind(old)
        await new_image(stage, "two")
        assert await sizes(stage) == {"one": 0}
        await stage.end(old, phase="Failed")
        assert await sizes(stage) == {"one": 0, "two": 1}


async def test_going_back_makes_an_old_version_the_newest() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2))
        await roll_out(stage)
        first = await replica_set(stage, "one")
        for number, image in enumerate(["two", "one", "two", "one"], 2):
            await new_image(stage, image)
            await roll_out(stage)
            assert (await replica_set(stage, image))["metadata"]["annotations"][REVISION] == str(number)
            assert (await stage.get(DEPLOYMENTS, "web"))["metadata"]["annotations"][REVISION] == str(number)
        now = await replica_set(stage, "one")
        assert now["metadata"]["uid"] == first["metadata"]["uid"], "another ReplicaSet was made for a template that had one"
        assert now["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1,3"
        assert await sizes(stage) == {"one": 2, "two": 0}


async def test_paused_deployment_scales_but_does_not_change_versions() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2))
        await roll_out(stage)
        await stage.change(DEPLOYMENTS, "web", {"spec": {"paused": True}})
        paused = condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")
        assert (paused["status"], paused["reason"]) == ("Unknown", "DeploymentPaused")
        await new_image(stage, "two")
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
        assert await sizes(stage) == {"one": 3}
        found = await stage.get(DEPLOYMENTS, "web")
        assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
        await stage.change(DEPLOYMENTS, "web", {"spec": {"paused": None}})
        await roll_out(stage)
        assert await sizes(stage) == {"one": 0, "two": 3}
        assert condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_scaling_in_the_middle_of_a_rollout_keeps_the_mix_of_versions() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(10, 3, 2))
        await roll_out(stage)
        await new_image(stage, "two")
        assert await sizes(stage) == {"one": 8, "two": 5}
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 15}})
        assert await sizes(stage) == {"one": 11, "two": 7}
        marks = [
            one["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] for one in await stage.all(REPLICA_SETS)
        ]
        assert marks == ["15", "15"]
        await roll_out(stage)
        assert await sizes(stage) == {"one": 0, "two": 15}


async def test_scaling_to_nought_and_back_works() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(3))
        for number in (0, 2):
            await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": number}})
            assert await sizes(stage) == {"one": number}
            assert len(await active(stage)) == number


async def test_replica_set_that_somebody_else_scaled_too_does_not_keep_a_deployment_from_rolling() -> None:
    async with staged() as stage:
        stage.cluster._names = ALL
        async with stage.cluster.controlling():
            await stage.make(DEPLOYMENTS, "web", rolling(2))
            await roll_out(stage)
        one = await replica_set(stage, "one")
        await stage.change(REPLICA_SETS, name_of(one), {"spec": {"replicas": 4}})
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
        async with stage.cluster.controlling():
            await new_image(stage, "two")
            await roll_out(stage)
            assert await sizes(stage) == {"one": 0, "two": 4}


async def test_rollout_that_gets_nowhere_is_stuck_after_its_deadline_and_can_recover() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2, progressDeadlineSeconds=60))
        first, second = await active(stage)
        await stage.pass_time(50)
        since = condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")["lastTransitionTime"]
        await stage.run(first)  # something happened, so it begins anew
        await stage.pass_time(59)
        goes_on = condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")
        assert (goes_on["status"], goes_on["lastTransitionTime"]) == ("True", since)
        await stage.pass_time(2)
        stuck = condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")
        assert (stuck["status"], stuck["reason"]) == ("False", "ProgressDeadlineExceeded")
        await stage.run(second)
        assert condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_complete_deployment_that_only_scales_is_never_stuck() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(1, progressDeadlineSeconds=60))
        await roll_out(stage)
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 2}})
        await stage.pass_time(500)
        assert condition(await stage.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"


async def test_min_ready_seconds_reach_the_replica_set_and_delay_the_rollout() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(1, 1, 0))
        await roll_out(stage)
        await stage.change(DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 20}})
        assert (await replica_set(stage, "one"))["spec"]["minReadySeconds"] == 20
        await stage.pass_time(21)
        await new_image(stage, "two")
        await roll_out(stage)
        assert await sizes(stage) == {"one": 1, "two": 1}
        await stage.pass_time(21)
        assert await sizes(stage) == {"one": 0, "two": 1}


async def test_name_that_is_taken_by_another_is_not_fought_for() -> None:
    async with staged("deployments") as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(1))
        [first] = await stage.all(REPLICA_SETS)
        await stage.delete(DEPLOYMENTS, "web", "Orphan")
        foreign = {"metadata": {"labels": {"app": "foreign"}}}
        await stage.delete(REPLICA_SETS, name_of(first))
        other = replicas_of(0, selector={"matchLabels": {"app": "foreign"}}, template=template({"app": "foreign"}))
        await stage.make(REPLICA_SETS, name_of(first), other, **foreign["metadata"])
        await stage.make(DEPLOYMENTS, "web", rolling(1))
        assert (await stage.get(DEPLOYMENTS, "web"))["status"]["collisionCount"] == 1
        names = {name_of(one) for one in await stage.all(REPLICA_SETS)}
        assert len(names) == 2
        assert owners_of(await stage.get(REPLICA_SETS, name_of(first))) == []


async def test_failure_to_make_pods_is_told_by_the_deployment_too() -> None:
    async with staged(*ALL) as stage:
        impossible = template()
        impossible["metadata"]["finalizers"] = ["no-finalizer"]
        await stage.make(DEPLOYMENTS, "web", rolling(1, template=impossible))
        failure = condition(await stage.get(DEPLOYMENTS, "web"), "ReplicaFailure")
        assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")


async def test_dep_1_replica_sets_are_adopted_and_released_by_selector() -> None:
    async with staged(*ALL) as stage:
        orphan = await stage.make(REPLICA_SETS, "old", replicas_of(2, template=template(image="old")), labels=LABELS)
        deployment = await stage.make(DEPLOYMENTS, "web", rolling(2))
        adopted = await stage.get(REPLICA_SETS, "old")
        assert owners_of(adopted) == [deployment["metadata"]["uid"]]
        await roll_out(stage)
        assert await sizes(stage) == {"old": 0, "one": 2}
        await stage.change(REPLICA_SETS, name_of(orphan), {"metadata": {"labels": {"app": "other"}}})
        assert owners_of(await stage.get(REPLICA_SETS, "old")) == []


async def test_dep_1_deployment_that_is_being_deleted_only_tells_how_it_stands() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2), finalizers=["e.com/hold"])
        await stage.delete(DEPLOYMENTS, "web", "Orphan")
        [left] = await stage.all(REPLICA_SETS)
        assert owners_of(left) == [], "it took back what was left behind on purpose"
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 5, "template": template(image="two")}}, lists=True)
        assert await sizes(stage) == {"one": 2}
        found = await stage.get(DEPLOYMENTS, "web")
        assert found["status"]["observedGeneration"] == found["metadata"]["generation"]


async def test_deployment_that_comes_again_takes_over_what_the_last_one_left() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2))
        [first] = await stage.all(REPLICA_SETS)
        await stage.delete(DEPLOYMENTS, "web", "Orphan")
        again = await stage.make(DEPLOYMENTS, "web", rolling(2))
        [same] = await stage.all(REPLICA_SETS)
        assert (same["metadata"]["uid"], owners_of(same)) == (first["metadata"]["uid"], [again["metadata"]["uid"]])


async def test_dep_4_selector_that_selects_everything_is_refused_and_never_acted_on() -> None:
    async with staged("deployments") as stage:
        refused = await stage.cluster.ask(
            "POST", DEPLOYMENTS.path("default"), {"metadata": {"name": "all"}, "spec": {**rolling(1), "selector": {}}}
        )
        assert refused.code == 422
        await stage.make(DEPLOYMENTS, "web", {**rolling(0), "paused": True})
        key = "objects/deployments.apps/default/web"
        found = await stage.cluster.store.read(key)
        assert found is not None
        stored = orjson.loads(found.value)
        stored["spec"] |= {"selector": {}, "replicas": 3, "paused": False}
        await stage.cluster.store.commit(update(key, orjson.dumps(stored), revision=found.revision))  # as nobody could
        await stage.settle()
        assert await stage.all(REPLICA_SETS) == []
        assert [reason for reason, _ in await stage.told("web")] == ["SelectingAll"]


async def test_replica_set_that_is_being_deleted_is_counted_not_changed_and_waited_for() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2, 1, 0))
        pods = await active(stage)
        await stage.bind(*pods)
        await roll_out(stage)
        [doomed] = await stage.all(REPLICA_SETS)
        await stage.delete(REPLICA_SETS, name_of(doomed), "Foreground")
        await stage.change(DEPLOYMENTS, "web", {"spec": {"replicas": 3}, "metadata": {"annotations": {"note": "new"}}})
        [dying] = await stage.all(REPLICA_SETS)
        assert dying["spec"] == doomed["spec"], "it was changed although nobody acts on that any more"
        assert "note" not in dying["metadata"]["annotations"]
        status = (await stage.get(DEPLOYMENTS, "web"))["status"]
        assert (status.get("replicas", 0), status["terminatingReplicas"]) == (0, 2)
        for pod in pods:
            await stage.delete(PODS, name_of(pod), grace=0)
        [again] = await stage.all(REPLICA_SETS)
        assert (name_of(again), again["metadata"]["uid"] != doomed["metadata"]["uid"]) == (name_of(doomed), True)
        assert len(await active(stage)) == 3


async def doomed_without_owner(stage: Stage) -> tuple[Object, list[Object]]:
    """A ReplicaSet that a deployment left behind, deleted in the foreground, and its pods, which are still there."""
    await stage.make(DEPLOYMENTS, "web", rolling(2, 1, 0))
    pods = await active(stage)
    await stage.bind(*pods)
    await roll_out(stage)
    await stage.delete(DEPLOYMENTS, "web", "Orphan")
    [left] = await stage.all(REPLICA_SETS)
    await stage.delete(REPLICA_SETS, name_of(left), "Foreground")
    return await stage.get(REPLICA_SETS, name_of(left)), pods


async def test_second_replica_set_does_not_appear_beside_one_without_owner_that_is_deleted_in_the_foreground() -> None:
    async with staged(*ALL) as stage:
        doomed, pods = await doomed_without_owner(stage)
        deployment = await stage.make(DEPLOYMENTS, "web", rolling(3, 1, 0))
        [dying] = await stage.all(REPLICA_SETS)
        assert owners_of(dying) == [deployment["metadata"]["uid"]], "it was not adopted"
        assert dying["spec"] == doomed["spec"], "it was changed although nobody acts on that any more"
        assert dying["metadata"].get("annotations") == doomed["metadata"].get("annotations")
        assert (await stage.get(DEPLOYMENTS, "web"))["status"]["terminatingReplicas"] == 2, "its pods do not count"
        for pod in pods:
            assert [one["metadata"]["uid"] for one in await stage.all(REPLICA_SETS)] == [doomed["metadata"]["uid"]]
            await stage.delete(PODS, name_of(pod), grace=0)
        [again] = await stage.all(REPLICA_SETS)
        assert again["metadata"]["uid"] != doomed["metadata"]["uid"]
        assert len(await active(stage)) == 3


async def test_replica_set_of_another_template_that_is_deleted_in_the_foreground_is_not_adopted() -> None:
    async with staged(*ALL) as stage:
        doomed, _ = await doomed_without_owner(stage)
        await stage.make(DEPLOYMENTS, "web", rolling(2, template=template(image="two")))
        assert owners_of(await stage.get(REPLICA_SETS, name_of(doomed))) == []
        assert (await sizes(stage))["two"] == 2


async def test_matching_replica_set_that_only_a_finalizer_holds_is_not_adopted() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(1))
        await stage.delete(DEPLOYMENTS, "web", "Orphan")
        [left] = await stage.all(REPLICA_SETS)
        await stage.change(REPLICA_SETS, name_of(left), {"metadata": {"finalizers": ["e.com/hold"]}})
        await stage.delete(REPLICA_SETS, name_of(left), "Background")
        await stage.make(DEPLOYMENTS, "web", rolling(1))
        assert owners_of(await stage.get(REPLICA_SETS, name_of(left))) == []


async def test_old_replica_set_that_is_being_deleted_takes_room_until_it_is_gone() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(4, 0, 1))
        pods = await active(stage)
        await stage.bind(*pods)
        await roll_out(stage)
        one = await replica_set(stage, "one")
        await stage.delete(REPLICA_SETS, name_of(one), "Foreground")
        await new_image(stage, "two")
        assert await sizes(stage) == {"one": 4, "two": 0}, "there is no room for new pods while the old ones are there"
        for pod in pods:
            await stage.delete(PODS, name_of(pod), grace=0)
        assert await sizes(stage) == {"two": 4}


async def test_foreground_deletion_goes_down_to_the_pods_and_comes_back_up() -> None:
    async with staged(*ALL) as stage:
        await stage.make(DEPLOYMENTS, "web", rolling(2))
        pods = await active(stage)
        await stage.bind(*pods)
        await stage.delete(DEPLOYMENTS, "web", "Foreground")
        assert "deletionTimestamp" in (await stage.get(DEPLOYMENTS, "web"))["metadata"]
        for pod in pods:
            assert await stage.find(DEPLOYMENTS, "web") is not None
            await stage.delete(PODS, name_of(pod), grace=0)
        assert [*await stage.all(DEPLOYMENTS), *await stage.all(REPLICA_SETS), *await stage.pods()] == []
