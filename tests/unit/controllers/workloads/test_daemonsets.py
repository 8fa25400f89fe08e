"""DaemonSets: a pod on each node that is meant, from one version to the next; DS-1 to DS-5."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.workloads.daemonsets.controller import NODES
from probate.controllers.workloads.daemonsets.placement import node_of
from probate.controllers.workloads.owner_kinds import DAEMON_SET, PODS, REVISIONS
from probate.controllers.workloads.pod_template import is_active
from support.workload_cluster import LABELS, Object, Stage, name_of, owners_of, staged, template

SETS = DAEMON_SET.resource
HASH = "controller-revision-hash"
MINE = {"kind": "DaemonSet", "controller": True, "blockOwnerDeletion": True}


def set_of(strategy: Object | None = None, pod: Object | None = None, **spec: Any) -> Object:
    way = {"updateStrategy": strategy} if strategy else {}
    return {"selector": {"matchLabels": LABELS}, "template": template(**(pod or {})), **way, **spec}


def rolling(**details: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": details}


async def add_nodes(stage: Stage, *names: str, **labels: str) -> None:
    for name in names:
        await stage.client.create(NODES, "", {"metadata": {"name": name, "labels": labels}})
        await stage.client.patch(NODES, "", name, {"spec": {"taints": None}})  # it is new, and so is not taken for ready
    await stage.settle()


async def change_node(stage: Stage, name: str, change: Object) -> None:
    await stage.client.patch(NODES, "", name, change)
    await stage.settle()


async def taint(stage: Stage, node: str, key: str, effect: str) -> None:
    await change_node(stage, node, {"spec": {"taints": [{"key": key, "effect": effect}]}})


async def manned(stage: Stage) -> list[str]:
    """The nodes that have a pod, once for each."""
    return sorted(node_of(pod) for pod in await stage.pods() if is_active(pod))


async def images(stage: Stage) -> list[str]:
    return sorted(f"{node_of(pod)} {pod['spec']['containers'][0]['image']}" for pod in await stage.pods() if is_active(pod))


async def serve(stage: Stage) -> None:
    await stage.run(*[pod for pod in await stage.pods() if is_active(pod)])


async def new_image(stage: Stage, image: str) -> None:
    await stage.change(SETS, "web", {"spec": {"template": template(image=image)}}, lists=True)


async def status(stage: Stage) -> Object:
    found: Object = (await stage.get(SETS, "web"))["status"]
    return found


async def test_every_node_gets_a_pod_that_is_tied_to_it_by_affinity() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b")
        owner = await stage.make(SETS, "web", set_of())
        assert await manned(stage) == ["a", "b"]
        [first, _], [revision] = await stage.pods(), await stage.all(REVISIONS)
        required = first["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        [term] = required["nodeSelectorTerms"]
        assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_of(first)]}]}
        assert "nodeName" not in first["spec"]
        hash_ = revision["metadata"]["labels"][HASH]
        assert first["metadata"]["labels"] == {**LABELS, HASH: hash_, "pod-template-generation": "1"}
        [reference] = first["metadata"]["ownerReferences"]
        assert MINE.items() <= reference.items()
        assert owners_of(revision) == owners_of(first) == [owner["metadata"]["uid"]]
        assert name_of(revision) == f"web-{hash_}"


async def test_node_that_comes_gets_a_pod() -> None:
    async with staged("daemonsets") as stage:
        await stage.make(SETS, "web", set_of())
        assert await manned(stage) == []
        await add_nodes(stage, "a")
        assert await manned(stage) == ["a"]


async def test_pod_that_never_came_to_its_node_goes_with_it_and_one_that_did_is_left_to_others() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b")
        await stage.make(SETS, "web", set_of())
        [on_a] = [pod for pod in await stage.pods() if node_of(pod) == "a"]
        await stage.bind(on_a, node="a")
        for name in ("a", "b"):
            await stage.client.delete(NODES, "", name)
        await stage.settle()
        assert [(name_of(pod), is_active(pod)) for pod in await stage.pods()] == [(name_of(on_a), True)]


async def test_only_nodes_that_match_get_a_pod_and_it_goes_when_they_do_not_any_more() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", disk="ssd")
        await add_nodes(stage, "b")
        await stage.make(SETS, "web", set_of(pod={"nodeSelector": {"disk": "ssd"}}))
        assert await manned(stage) == ["a"]
        await change_node(stage, "b", {"metadata": {"labels": {"disk": "ssd"}}})
        await change_node(stage, "a", {"metadata": {"labels": {"disk": None}}})
        assert await manned(stage) == ["b"]


async def test_affinity_of_the_template_chooses_nodes() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", zone="x")
        await add_nodes(stage, "b", zone="y")
        term = {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["x"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        await stage.make(SETS, "web", set_of(pod={"affinity": {"nodeAffinity": required}}))
        assert await manned(stage) == ["b"]


@pytest.mark.parametrize(("effect", "stays"), [("NoSchedule", True), ("NoExecute", False), ("PreferNoSchedule", True)])
async def test_taint_that_is_not_tolerated(effect: str, *, stays: bool) -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b")
        await taint(stage, "b", "test.example/keep-off", effect)
        await stage.make(SETS, "web", set_of())
        comes = effect == "PreferNoSchedule"
        assert await manned(stage) == (["a", "b"] if comes else ["a"])
        await taint(stage, "a", "test.example/keep-off", effect)
        assert ("a" in await manned(stage)) == stays
        assert (await status(stage))["numberMisscheduled"] == (1 if effect == "NoSchedule" else 0)


@pytest.mark.parametrize(
    ("key", "effect"),
    [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ],
)
async def test_node_in_trouble_keeps_its_pod(key: str, effect: str) -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await taint(stage, "a", f"node.kubernetes.io/{key}", effect)
        await stage.make(SETS, "web", set_of())
        assert await manned(stage) == ["a"]


@pytest.mark.parametrize("is_on_host", [True, False])
async def test_only_pods_that_use_the_network_of_the_host_do_without_another(*, is_on_host: bool) -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await taint(stage, "a", "node.kubernetes.io/network-unavailable", "NoSchedule")
        await stage.make(SETS, "web", set_of(pod={"hostNetwork": is_on_host}))
        assert await manned(stage) == (["a"] if is_on_host else [])


async def test_status_counts_nodes() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b", "c")
        await stage.make(SETS, "web", set_of(minReadySeconds=5))
        first, second, _ = await stage.pods()
        await stage.run(first)
        await stage.pass_time(5)
        await stage.run(second)
        found = await status(stage)
        assert {name: value for name, value in found.items() if "umber" in name} == {
            "currentNumberScheduled": 3,
            "desiredNumberScheduled": 3,
            "numberMisscheduled": 0,
            "numberReady": 2,
            "numberAvailable": 1,
            "numberUnavailable": 2,
            "updatedNumberScheduled": 3,
        }
        assert found["observedGeneration"] == 1
        await stage.pass_time(5)
        assert (await status(stage))["numberAvailable"] == 2


@pytest.mark.parametrize(("most", "number"), [(1, 1), (2, 2), ("50%", 2), ("30%", 2), ("100%", 4)])
async def test_update_takes_so_many_at_once(most: Any, number: int) -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b", "c", "d")
        await stage.make(SETS, "web", set_of(rolling(maxUnavailable=most)))
        await serve(stage)
        await new_image(stage, "two")
        assert sum("two" in one for one in await images(stage)) == number
        assert len(await manned(stage)) == 4
        for _ in range(4):
            await serve(stage)
        assert await images(stage) == ["a two", "b two", "c two", "d two"]
        assert (await status(stage))["updatedNumberScheduled"] == 4


async def test_update_replaces_pods_that_do_not_serve_first() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b", "c")
        await stage.make(SETS, "web", set_of())
        await stage.run(*[pod for pod in await stage.pods() if node_of(pod) != "b"])
        await new_image(stage, "two")
        assert await images(stage) == ["a one", "b two", "c one"]


@pytest.mark.parametrize("details", [{"maxUnavailable": 2}, {"maxSurge": 2, "maxUnavailable": 0}])
async def test_update_leaves_a_pod_alone_where_none_could_come_in_its_place(details: Object) -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b")
        await stage.make(SETS, "web", set_of(rolling(**details)))
        await serve(stage)
        await taint(stage, "b", "test.example/keep-off", "NoSchedule")
        await new_image(stage, "two")
        for _ in range(3):
            await serve(stage)
        assert await images(stage) == ["a two", "b one"]
        said = await status(stage)
        assert (said["desiredNumberScheduled"], said["updatedNumberScheduled"]) == (1, 1), "the update is over"
        await stage.client.patch(NODES, "", "b", {"spec": {"taints": None}})
        await stage.settle()
        for _ in range(3):
            await serve(stage)
        assert await images(stage) == ["a two", "b two"]


async def test_surge_lets_the_new_pod_come_before_the_old_one_goes() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b")
        await stage.make(SETS, "web", set_of(rolling(maxSurge=1, maxUnavailable=0)))
        await serve(stage)
        await new_image(stage, "two")
        two = await images(stage)
        assert len(two) == 3, "one node has two"
        assert sum("one" in one for one in two) == 2
        await serve(stage)
        assert len(await images(stage)) == 3, "and now the other has"
        await serve(stage)
        assert await images(stage) == ["a two", "b two"]


async def test_surge_gives_up_an_old_pod_that_serves_no_more() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of(rolling(maxSurge=1, maxUnavailable=0)))
        await serve(stage)
        [old] = await stage.pods()
        await new_image(stage, "two")
        await stage.run(old, is_ready=False)
        assert await images(stage) == ["a two"]


async def test_on_delete_changes_a_pod_only_when_somebody_deletes_it() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a", "b")
        await stage.make(SETS, "web", set_of({"type": "OnDelete"}))
        await serve(stage)
        await new_image(stage, "two")
        assert await images(stage) == ["a one", "b one"]
        [on_a] = [pod for pod in await stage.pods() if node_of(pod) == "a"]
        await stage.delete(PODS, name_of(on_a), grace=0)
        assert await images(stage) == ["a two", "b one"]


async def test_pod_that_has_ended_is_replaced_later_each_time() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of())
        for wait in (0, 1, 2, 4):
            [pod] = await stage.pods()
            await stage.end(pod, phase="Failed")
            if wait:
                assert await manned(stage) == []
                await stage.pass_time(wait - 0.1)
                assert await manned(stage) == []
                await stage.pass_time(0.1)
            assert await manned(stage) == ["a"]
        assert "FailedDaemonPod" in [reason for reason, _ in await stage.told("web")]


async def test_second_pod_on_a_node_goes() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of())
        [first] = await stage.pods()
        await stage.pass_time(1)
        await stage.make(PODS, "other", {**template()["spec"], "nodeName": "a"}, labels=LABELS)
        assert [name_of(pod) for pod in await stage.pods() if is_active(pod)] == [name_of(first)]


async def test_ds_1_nothing_happens_while_the_set_is_deleted() -> None:
    async with staged("daemonsets") as stage:
        await stage.make(SETS, "web", set_of(), finalizers=["test.example/hold"])
        await stage.delete(SETS, "web")
        before = await stage.get(SETS, "web")
        await add_nodes(stage, "a")
        assert await manned(stage) == []
        assert await stage.get(SETS, "web") == before


async def test_ds_2_pods_and_revisions_are_adopted_and_released() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of())
        await stage.delete(SETS, "web", "Orphan")
        [left], [revision] = await stage.pods(), await stage.all(REVISIONS)
        assert owners_of(left) == owners_of(revision) == []
        again = await stage.make(SETS, "web", set_of())
        [pod], [revision] = await stage.pods(), await stage.all(REVISIONS)
        assert name_of(pod) == name_of(left)
        assert owners_of(pod) == owners_of(revision) == [again["metadata"]["uid"]]
        await stage.change(REVISIONS, name_of(revision), {"metadata": {"labels": {"app": "else"}}})
        assert owners_of(await stage.get(REVISIONS, name_of(revision))) == []


async def test_ds_3_of_equal_revisions_one_stays() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of({"type": "OnDelete"}))
        [first] = await stage.all(REVISIONS)
        labels = {**first["metadata"]["labels"], HASH: "double", "controller.kubernetes.io/hash": "double"}
        double = {"metadata": {"name": "web-double", "labels": labels}, "data": first["data"], "revision": 7}
        await stage.client.create(REVISIONS, "default", double)
        await stage.settle()
        assert [name_of(one) for one in await stage.all(REVISIONS)] == ["web-double"]
        assert [pod["metadata"]["labels"][HASH] for pod in await stage.pods()] == ["double"]


async def test_ds_3_twin_of_a_revision_that_somebody_made_ended_the_other_at_once() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of())
        [first] = await stage.all(REVISIONS)
        meta = {name: first["metadata"][name] for name in ("labels", "ownerReferences")}
        await stage.client.create(REVISIONS, "default", {**first, "metadata": {"name": "web-twin", **meta}, "revision": 2})
        await stage.settle()
        assert {name_of(one) for one in await stage.all(REVISIONS)} == {name_of(first), "web-twin"}
        await stage.delete(REVISIONS, name_of(first))
        assert [name_of(one) for one in await stage.all(REVISIONS)] == ["web-twin"]


async def test_ds_4_old_revisions_go_beyond_the_limit_unless_a_pod_has_them() -> None:
    async with staged("daemonsets") as stage:
        await add_nodes(stage, "a")
        await stage.make(SETS, "web", set_of({"type": "OnDelete"}, revisionHistoryLimit=2))
        for image in ("two", "three", "four", "five"):
            await new_image(stage, image)
        left = {one["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for one in await stage.all(REVISIONS)}
        assert left == {"one", "four", "five"}
