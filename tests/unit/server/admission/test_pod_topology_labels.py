"""Pods are labelled with the zone and the region of their node."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import House, running

PODS = "/api/v1/namespaces/default/pods"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


async def make_node(house: House, labels: dict[str, str]) -> None:
    assert (await house.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})).code == 201


async def make_pod(house: House, labels: Any = None, **spec: Any) -> Any:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    told = await house.ask("POST", PODS, {"metadata": {"name": "p", "labels": labels or {}}, "spec": spec})
    assert told.code == 201, told.body
    return told.json["metadata"].get("labels") or {}


async def bind(house: House, **target: str) -> Any:
    body = {"metadata": {"name": "p"}, "target": {"name": "n", **target}}
    assert (await house.ask("POST", f"{PODS}/p/binding", body)).code == 201
    return (await house.ask("GET", f"{PODS}/p")).json["metadata"].get("labels") or {}


async def test_bound_pod_did_not_say_where_it_is() -> None:
    async with running() as house:
        await make_node(house, {ZONE: "a", REGION: "r", "topology.kubernetes.io/rack": "7"})
        assert await make_pod(house, {REGION: "own"}) == {REGION: "own"}
        assert await bind(house, kind="Node") == {ZONE: "a", REGION: "r"}


@pytest.mark.parametrize("target", [{}, {"kind": "Node", "name": "gone"}], ids=["of no kind", "that is not there"])
async def test_target(target: dict[str, str]) -> None:
    async with running() as house:
        await make_node(house, {ZONE: "a"})
        await make_pod(house)
        assert await bind(house, **target) == {}


async def test_pod_that_is_made_for_a_node_says_where_that_is() -> None:
    async with running() as house:
        await make_node(house, {ZONE: "a", REGION: "r"})
        assert await make_pod(house, {"own": "1", ZONE: "mine"}, nodeName="n") == {"own": "1", ZONE: "a", REGION: "r"}
