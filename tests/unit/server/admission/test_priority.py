"""Pods get the priority of their PriorityClass."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import InProcessServer, Response, running

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PODS = "/api/v1/namespaces/default/pods"


async def make_class(server: InProcessServer, name: str, **fields: Any) -> Response:
    return await server.request("POST", CLASSES, {"metadata": {"name": name}, **fields})


async def make_pod(server: InProcessServer, name: str = "p", **spec: Any) -> Response:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return await server.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})


def given(response: Response) -> tuple[Any, ...]:
    assert response.code == 201, response.body
    return tuple(response.json["spec"].get(field) for field in ("priorityClassName", "priority", "preemptionPolicy"))


async def test_pod_did_not_get_the_priority_of_its_class() -> None:
    async with running() as server:
        assert (await make_class(server, "high", value=1000)).code == 201
        assert (await make_class(server, "polite", value=-5, preemptionPolicy="Never")).code == 201
        assert given(await make_pod(server, "a", priorityClassName="high")) == ("high", 1000, "PreemptLowerPriority")
        assert given(await make_pod(server, "b", priorityClassName="polite")) == ("polite", -5, "Never")
        assert given(await make_pod(server, "c", priorityClassName="high", priority=1000))[1] == 1000
        assert given(await make_pod(server, "d")) == (None, 0, "PreemptLowerPriority")
        assert given(await make_pod(server, "e", priorityClassName="system-node-critical"))[1] == 2_000_001_000


async def test_default_class_applies_and_only_one_is_allowed() -> None:
    async with running() as server:
        assert (await make_class(server, "usual", value=7, globalDefault=True)).code == 201
        assert given(await make_pod(server, "a")) == ("usual", 7, "PreemptLowerPriority")
        refused = await make_class(server, "other", value=8, globalDefault=True)
        assert refused.code == 403
        assert "PriorityClass usual is already marked as default. Only one default can exist" in refused.json["message"]
        assert (await server.request("DELETE", f"{CLASSES}/usual")).code == 200
        assert given(await make_pod(server, "b"))[:2] == (None, 0)
        assert (await make_class(server, "other", value=8, globalDefault=True)).code == 201


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        ({"priority": 5}, "the integer value of priority (5) must not be provided in pod spec"),
        ({"priorityClassName": "high", "priority": 5}, "computed 1000 from the given PriorityClass name"),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never)"),
    ],
)
async def test_pod_that_contradicts_its_class_is_refused(spec: dict[str, Any], why: str) -> None:
    async with running() as server:
        await make_class(server, "high", value=1000)
        refused = await make_pod(server, **spec)
        assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
        assert why in refused.json["message"]
        assert (await server.request("GET", f"{PODS}/p")).code == 404


async def test_assigned_priority_has_no_field_manager() -> None:
    async with running() as server:
        await make_class(server, "usual", value=7, globalDefault=True)
        [entry] = (await make_pod(server)).json["metadata"]["managedFields"]
        assert "f:containers" in entry["fieldsV1"]["f:spec"]
        assert not {"f:priority", "f:priorityClassName", "f:preemptionPolicy"} & entry["fieldsV1"]["f:spec"].keys()
