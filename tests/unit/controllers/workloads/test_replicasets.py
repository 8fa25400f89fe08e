"""ReplicaSets and ReplicationControllers: RS-1 to RS-5, OWN-1, OWN-2, and what they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from probate.client.objects import Kind
from probate.controllers.workloads import slow_start
from probate.controllers.workloads.owner_kinds import PODS
from probate.core import errors
from support.workload_cluster import (
    CONTROLLERS,
    EVENTS,
    LABELS,
    NAMESPACE,
    REPLICA_SETS,
    condition,
    name_of,
    owners_of,
    replicas_of,
    staged,
    template,
)

BOTH = [("replicasets", REPLICA_SETS, {"matchLabels": LABELS}), ("replicationcontrollers", CONTROLLERS, LABELS)]
NAMESPACES = Kind("", "v1", "namespaces")
IDS = ["ReplicaSet", "ReplicationController"]


@pytest.mark.parametrize(("controller", "kind", "selector"), BOTH, ids=IDS)
async def test_pods_are_made_and_deleted_until_there_are_as_many_as_wanted(controller: str, kind: Kind, selector: Any) -> None:
    async with staged(controller) as stage:
        owner = await stage.make(kind, "web", replicas_of(3, selector=selector))
        assert len(await stage.pods(owner)) == 3
        await stage.change(kind, "web", {"spec": {"replicas": 5}})
        assert len(await stage.pods(owner)) == 5
        await stage.change(kind, "web", {"spec": {"replicas": 1}})
        assert len(await stage.pods(owner)) == 1
        assert (await stage.get(kind, "web"))["status"]["replicas"] == 1


@pytest.mark.parametrize(("controller", "kind", "selector"), BOTH, ids=IDS)
async def test_own_1_pods_have_one_controller_that_waits_for_them(controller: str, kind: Kind, selector: Any) -> None:
    """The reference says so (C-5)."""
    async with staged(controller) as stage:
        owner = await stage.make(kind, "web", replicas_of(1, selector=selector))
        [pod] = await stage.pods()
        [reference] = pod["metadata"]["ownerReferences"]
        version = {"replicasets": "apps/v1", "replicationcontrollers": "v1"}[controller]
        assert reference == {
            "apiVersion": version,
            "kind": IDS[["replicasets", "replicationcontrollers"].index(controller)],
            "name": "web",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }


async def test_own_2_pod_has_what_its_template_says_and_a_name_that_begins_like_its_owner() -> None:
    async with staged("replicasets") as stage:
        made = template(nodeSelector={"disk": "fast"})
        made["metadata"] |= {"annotations": {"note": "x"}, "finalizers": ["e.com/x"], "name": "ignored"}
        await stage.make(REPLICA_SETS, "web", replicas_of(1, template=made))
        [pod] = await stage.pods()
        meta = pod["metadata"]
        assert (meta["generateName"], meta["labels"], meta["annotations"]) == ("web-", LABELS, {"note": "x"})
        assert (meta["finalizers"], pod["spec"]["nodeSelector"]) == (["e.com/x"], {"disk": "fast"})
        assert meta["name"].startswith("web-")
        assert meta["name"] != "web-"


async def test_own_2_long_name_of_an_owner_leaves_room_for_those_of_its_pods() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "w" * 253, replicas_of(1))
        [pod] = await stage.pods(owner)
        assert len(name_of(pod)) == 63


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_rs_1_pod_that_has_ended_is_replaced_and_kept(phase: str) -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        [pod] = await stage.pods()
        await stage.end(pod, phase=phase)
        assert len(await stage.pods(owner)) == 2
        assert owners_of(await stage.get(PODS, name_of(pod))) == [owner["metadata"]["uid"]]


async def test_rs_1_pods_that_have_ended_or_leave_are_neither_adopted_nor_released() -> None:
    """They are not active. (C-6)"""
    async with staged("replicasets") as stage:
        ended, leaving = await stage.pod("ended"), await stage.pod("leaving", finalizers=["e.com/x"])
        await stage.end(ended)
        await stage.delete(PODS, "leaving")
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        assert [owners_of(await stage.get(PODS, name_of(pod))) for pod in (ended, leaving)] == [[], []]
        [pod] = await stage.pods(owner)
        await stage.end(pod)
        await stage.change(PODS, name_of(pod), {"metadata": {"labels": {"app": "other"}}})
        assert owners_of(await stage.get(PODS, name_of(pod))) == [owner["metadata"]["uid"]]


async def test_rs_1_pod_with_pending_finalizers_does_not_hold_up_its_replacement() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1))
        [pod] = await stage.pods()
        await stage.change(PODS, name_of(pod), {"metadata": {"finalizers": ["e.com/x"]}})
        await stage.delete(PODS, name_of(pod))
        assert len(await stage.pods(owner)) == 2
        status = (await stage.get(REPLICA_SETS, "web"))["status"]
        assert (status["replicas"], status["terminatingReplicas"]) == (1, 1)


@pytest.mark.parametrize(("controller", "kind", "selector"), BOTH, ids=IDS)
async def test_rs_2_owner_that_is_being_deleted_makes_no_pods_and_deletes_none(controller: str, kind: Kind, selector: Any) -> None:
    async with staged(controller) as stage:
        owner = await stage.make(kind, "web", replicas_of(2, selector=selector), finalizers=["e.com/hold"])
        await stage.delete(kind, "web", "Background")
        [pod, _] = await stage.pods(owner)
        await stage.delete(PODS, name_of(pod))
        assert len(await stage.pods(owner)) == 1, "a pod was made for an owner that goes"
        found = await stage.get(kind, "web")
        assert (found["status"]["replicas"], found["status"]["observedGeneration"]) == (1, found["metadata"]["generation"])
        await stage.change(kind, "web", {"spec": {"replicas": 0}})
        assert len(await stage.pods(owner)) == 1, "a pod was deleted for an owner that goes"


async def test_rs_3_orphan_that_comes_wakes_those_whose_selector_matches() -> None:
    async with staged("replicasets") as stage:
        await stage.make(REPLICA_SETS, "web", replicas_of(1))
        await stage.pod("surplus")
        assert len(await stage.pods()) == 1, "nobody counted the pod that came"
        await stage.pod("stranger", labels={"app": "other"})
        assert len(await stage.pods()) == 2


async def test_rs_3_orphan_whose_labels_change_wakes_those_whose_selector_matches_now() -> None:
    async with staged("replicasets") as stage:
        await stage.make(REPLICA_SETS, "web", replicas_of(1))
        await stage.pod("stranger", labels={"app": "other"})
        assert len(await stage.pods()) == 2
        await stage.change(PODS, "stranger", {"metadata": {"labels": LABELS}})
        assert len(await stage.pods()) == 1, "nobody counted the pod that is of them now"


async def test_rs_4_surplus_pods_that_do_not_serve_go_first() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(4))
        serving, running, bound, _ = await stage.pods(owner)
        await stage.bind(serving, running, bound)
        await stage.run(serving)
        await stage.run(running, is_ready=False)
        names = [name_of(pod) for pod in (serving, running, bound)]
        for number in (3, 2, 1):
            await stage.change(REPLICA_SETS, "web", {"spec": {"replicas": number}})
            living = {name_of(pod) for pod in await stage.pods(owner) if "deletionTimestamp" not in pod["metadata"]}
            assert living == set(names[:number])


async def test_rs_4_surplus_pod_is_given_its_own_grace_period() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(1, template=template(terminationGracePeriodSeconds=77)))
        [pod] = await stage.pods(owner)
        await stage.bind(pod)
        await stage.change(REPLICA_SETS, "web", {"spec": {"replicas": 0}})
        assert (await stage.get(PODS, name_of(pod)))["metadata"]["deletionGracePeriodSeconds"] == 77
        status = (await stage.get(REPLICA_SETS, "web"))["status"]
        assert (status["replicas"], status["terminatingReplicas"]) == (0, 1)


async def test_rs_5_nothing_is_told_of_a_namespace_that_is_being_deleted() -> None:
    async with staged("replicasets") as stage:
        await stage.cluster.create("namespaces", "", {"metadata": {"name": "doomed"}})
        await stage.client.create(REPLICA_SETS, "doomed", {"metadata": {"name": "web"}, "spec": replicas_of(1)})
        await stage.settle()
        [pod] = (await stage.client.list(PODS, "doomed")).items
        await stage.client.delete(NAMESPACES, "", "doomed")  # nobody here empties it
        await stage.client.delete(PODS, "doomed", name_of(pod))
        await stage.settle()
        assert (await stage.client.list(PODS, "doomed")).items == []
        told = [event["reason"] for event in (await stage.client.list(EVENTS, "doomed")).items]
        assert told == ["SuccessfulCreate"]
        [owner] = (await stage.client.list(REPLICA_SETS, "doomed")).items
        assert condition(owner, "ReplicaFailure") == {}


async def test_status_counts_pods_that_are_ready_available_and_labelled_in_full() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(3, minReadySeconds=10))
        first, second, _ = await stage.pods(owner)
        await stage.run(first)
        await stage.pass_time(6)
        await stage.run(second)
        await stage.change(PODS, name_of(second), {"metadata": {"labels": {"more": "labels"}}})

        async def counts() -> tuple[int, int, int, int]:
            status = (await stage.get(REPLICA_SETS, "web"))["status"]
            names = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
            return tuple(status.get(name, 0) for name in names)

        assert await counts() == (3, 3, 2, 0)
        await stage.pass_time(4)
        assert await counts() == (3, 3, 2, 1)
        await stage.pass_time(6)
        assert await counts() == (3, 3, 2, 2)


async def test_pods_are_made_in_batches_that_double_until_one_fails() -> None:
    asked: list[int] = []

    async def request(number: int) -> None:
        asked.append(number)
        if number >= 5:
            raise errors.Forbidden("no more")

    done = await slow_start.slowly(range(100), request)
    assert asked == list(range(7)), "one, two, four: of the third batch some failed, so there is no fourth"
    assert (done.number, len(done.failures)) == (5, 2)


async def test_owner_that_cannot_make_pods_says_so_and_goes_on_when_it_can() -> None:
    async with staged("replicasets") as stage:
        impossible = template()
        impossible["metadata"]["finalizers"] = ["no-finalizer"]  # which only a pod that is to be made is asked for
        await stage.make(REPLICA_SETS, "web", replicas_of(3, template=impossible))
        failure = condition(await stage.get(REPLICA_SETS, "web"), "ReplicaFailure")
        assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")
        assert "no-finalizer" in failure["message"]
        assert {reason for reason, _ in await stage.told("web")} == {"FailedCreate"}
        await stage.change(REPLICA_SETS, "web", {"spec": {"template": {"metadata": {"finalizers": None}}}})
        assert len(await stage.pods()) == 3
        assert condition(await stage.get(REPLICA_SETS, "web"), "ReplicaFailure") == {}


async def test_controller_that_was_away_makes_up_for_it() -> None:
    async with staged() as stage:
        await stage.make(REPLICA_SETS, "web", replicas_of(2))
        assert await stage.pods() == []
        stage.cluster._names = ("replicasets",)
        for number in (2, 3):
            async with stage.cluster.controlling():
                await stage.settle()
                assert len(await stage.pods()) == number
            await stage.client.patch(REPLICA_SETS, NAMESPACE, "web", {"spec": {"replicas": 3}})


async def test_foreground_deletion_waits_for_pods_and_nobody_makes_new_ones() -> None:
    async with staged("replicasets") as stage:
        owner = await stage.make(REPLICA_SETS, "web", replicas_of(2))
        pods = await stage.pods(owner)
        await stage.bind(*pods)
        await stage.delete(REPLICA_SETS, "web", "Foreground")
        assert all("deletionTimestamp" in pod["metadata"] for pod in await stage.pods(owner))
        for pod in pods:
            assert await stage.find(REPLICA_SETS, "web") is not None
            await stage.delete(PODS, name_of(pod), grace=0)
        assert await stage.find(REPLICA_SETS, "web") is None
        assert await stage.pods() == []
