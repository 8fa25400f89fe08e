"""Pods get the zone and region labels of their node."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import InProcessServer, running

PODS = "/api/v1/namespaces/default/pods"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


async def make_node(server: InProcessServer, labels: dict[str, str]) -> None:
    assert (await server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})).code == 201


async def make_pod(server: InProcessServer, labels: Any = None, **spec: Any) -> Any:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    response = await server.request("POST", PODS, {"metadata": {"name": "p", "labels": labels or {}}, "spec": spec})
    assert response.code == 201, response.body
    return response.json["metadata"].get("labels") or {}


async def bind(server: InProcessServer, **target: str) -> Any:
    body = {"metadata": {"name": "p"}, "target": {"name": "n", **target}}
    assert (await server.request("POST", f"{PODS}/p/binding", body)).code == 201
    return (await server.request("GET", f"{PODS}/p")).json["metadata"].get("labels") or {}


async def test_bound_pod_did_not_say_where_it_is() -> None:
    async with running() as server:
        await make_node(server, {ZONE: "a", REGION: "r", "topology.kubernetes.io/rack": "7"})
        assert await make_pod(server, {REGION: "own"}) == {REGION: "own"}
        assert await bind(server, kind="Node") == {ZONE: "a", REGION: "r"}


@pytest.mark.parametrize("target", [{}, {"kind": "Node", "name": "gone"}], ids=["of no kind", "that is not there"])
async def test_target(target: dict[str, str]) -> None:
    async with running() as server:
        await make_node(server, {ZONE: "a"})
        await make_pod(server)
        assert await bind(server, **target) == {}


async def test_pod_created_for_a_node_gets_its_labels() -> None:
    async with running() as server:
        await make_node(server, {ZONE: "a", REGION: "r"})
        assert await make_pod(server, {"own": "1", ZONE: "mine"}, nodeName="n") == {"own": "1", ZONE: "a", REGION: "r"}
