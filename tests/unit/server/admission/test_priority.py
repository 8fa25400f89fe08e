"""Pods get the priority of their class."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import House, Told, running

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PODS = "/api/v1/namespaces/default/pods"


async def make_class(house: House, name: str, **fields: Any) -> Told:
    return await house.ask("POST", CLASSES, {"metadata": {"name": name}, **fields})


async def make_pod(house: House, name: str = "p", **spec: Any) -> Told:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return await house.ask("POST", PODS, {"metadata": {"name": name}, "spec": spec})


def given(told: Told) -> tuple[Any, ...]:
    assert told.code == 201, told.body
    return tuple(told.json["spec"].get(field) for field in ("priorityClassName", "priority", "preemptionPolicy"))


async def test_pod_did_not_get_the_priority_of_its_class() -> None:
    async with running() as house:
        assert (await make_class(house, "high", value=1000)).code == 201
        assert (await make_class(house, "polite", value=-5, preemptionPolicy="Never")).code == 201
        assert given(await make_pod(house, "a", priorityClassName="high")) == ("high", 1000, "PreemptLowerPriority")
        assert given(await make_pod(house, "b", priorityClassName="polite")) == ("polite", -5, "Never")
        assert given(await make_pod(house, "c", priorityClassName="high", priority=1000))[1] == 1000
        assert given(await make_pod(house, "d")) == (None, 0, "PreemptLowerPriority")
        assert given(await make_pod(house, "e", priorityClassName="system-node-critical"))[1] == 2_000_001_000


async def test_class_that_is_everybodys_is_given_to_pods_that_name_none_and_only_one_can_be() -> None:
    async with running() as house:
        assert (await make_class(house, "usual", value=7, globalDefault=True)).code == 201
        assert given(await make_pod(house, "a")) == ("usual", 7, "PreemptLowerPriority")
        refused = await make_class(house, "other", value=8, globalDefault=True)
        assert refused.code == 403
        assert "PriorityClass usual is already marked as default. Only one default can exist" in refused.json["message"]
        assert (await house.ask("DELETE", f"{CLASSES}/usual")).code == 200
        assert given(await make_pod(house, "b"))[:2] == (None, 0)
        assert (await make_class(house, "other", value=8, globalDefault=True)).code == 201


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        ({"priority": 5}, "the integer value of priority (5) must not be provided in pod spec"),
        ({"priorityClassName": "high", "priority": 5}, "computed 1000 from the given PriorityClass name"),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never)"),
    ],
)
async def test_pod_that_asks_for_what_its_class_does_not_have_is_refused(spec: dict[str, Any], why: str) -> None:
    async with running() as house:
        await make_class(house, "high", value=1000)
        refused = await make_pod(house, **spec)
        assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
        assert why in refused.json["message"]
        assert (await house.ask("GET", f"{PODS}/p")).code == 404


async def test_priority_that_a_class_gave_belongs_to_nobody() -> None:
    async with running() as house:
        await make_class(house, "usual", value=7, globalDefault=True)
        [entry] = (await make_pod(house)).json["metadata"]["managedFields"]
        assert "f:containers" in entry["fieldsV1"]["f:spec"]
        assert not {"f:priority", "f:priorityClassName", "f:preemptionPolicy"} & entry["fieldsV1"]["f:spec"].keys()
