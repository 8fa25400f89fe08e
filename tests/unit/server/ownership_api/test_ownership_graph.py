"""`/debug/ownership` against golden files. `PROBATE_UPDATE=1` rewrites them. No collector runs, so all objects stay as created."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from support.in_process_server import FakeClock, InProcessServer, running

PATH = "/debug/ownership"
FOLDER = "/api/v1/namespaces/default/configmaps"
GOLDEN = Path(__file__).parents[3] / "data"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(clock=FakeClock(), collects=False) as server:
        await server.create("namespaces", "", {"metadata": {"name": "other"}})
        yield server


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


async def create_configmap(server: InProcessServer, name: str, *references: Any, namespace: str = "default") -> Any:
    return await server.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": references}})


async def create_family(server: InProcessServer) -> dict[str, Any]:
    """Creates one object of every state that the graph can show."""
    server.uids = itertools.count(101)  # whatever a server makes for itself at its start
    top = await server.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "top"}, "value": 1})
    app = await create_configmap(server, "app", reference(top))
    part = await create_configmap(server, "part", reference(app, blockOwnerDeletion=True))
    leaving = await create_configmap(server, "leaving", reference(app, blockOwnerDeletion=True))
    left = await create_configmap(server, "left", reference(leaving))
    gone = {"apiVersion": "v1", "kind": "Secret", "name": 'a "gone" \\one', "uid": "gone-uid"}
    shared = await create_configmap(server, "shared", reference(app, blockOwnerDeletion=True), gone)
    await create_configmap(server, "far", reference(app, blockOwnerDeletion=True), namespace="other")
    await create_configmap(server, "unsure", {**reference(app), "apiVersion": "none.example.com/v1", "kind": "Nothing"})
    await create_configmap(server, "sibling", reference(top))
    await create_configmap(server, "stranger")
    assert (await server.request("DELETE", f"{FOLDER}/app", {"propagationPolicy": "Foreground"})).code == 200
    assert (await server.request("DELETE", f"{FOLDER}/leaving", {"propagationPolicy": "Orphan"})).code == 200
    return {"top": top, "app": app, "part": part, "leaving": leaving, "left": left, "shared": shared}


def assert_golden(name: str, found: bytes) -> None:
    path = GOLDEN / name
    if os.environ.get("PROBATE_UPDATE"):
        path.write_bytes(found)
    assert found.decode() == path.read_text()


async def graph(server: InProcessServer, **query: Any) -> Any:
    response = await server.request("GET", PATH, query=query)
    assert response.code == 200, response.body
    assert response.headers["content-type"] == "application/json"
    return response.json


def names(found: Any) -> list[str]:
    return sorted(node["name"] for node in found["nodes"])


async def test_dot_matches_the_golden_file(server: InProcessServer) -> None:
    family = await create_family(server)
    response = await server.request("GET", PATH, query={"uid": family["app"]["metadata"]["uid"]}, accept="*/*")
    assert (response.code, response.headers["content-type"]) == (200, "text/vnd.graphviz; charset=utf-8")
    assert_golden("ownership.dot", response.body)


async def test_json_matches_the_golden_file(server: InProcessServer) -> None:
    family = await create_family(server)
    found = await graph(server, uid=family["app"]["metadata"]["uid"])
    assert_golden("ownership.json", orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


async def test_graph_has_all_owners_and_dependents_but_no_siblings(server: InProcessServer) -> None:
    family = await create_family(server)
    found = await graph(server, uid=family["left"]["metadata"]["uid"])
    assert names(found) == ["app", "leaving", "left", "top"]
    found = await graph(server, uid=family["top"]["metadata"]["uid"])
    assert {"top", "app", "sibling", "left"} <= set(names(found))
    assert "stranger" not in names(found)


async def test_graph_by_name_equals_graph_by_uid(server: InProcessServer) -> None:
    family = await create_family(server)
    named = await graph(server, apiVersion="v1", kind="ConfigMap", namespace="default", name="app")
    assert named == await graph(server, uid=family["app"]["metadata"]["uid"])


async def test_graph_of_a_namespace_has_owned_and_deleting_objects(server: InProcessServer) -> None:
    await create_family(server)
    assert names(await graph(server, namespace="other")) == ["app", "far"]
    assert "stranger" not in names(await graph(server, namespace="default"))
    assert {"unsure", "leaving", "top"} <= set(names(await graph(server, namespace="default")))


async def test_graph_of_a_missing_owner_has_its_dependents(server: InProcessServer) -> None:
    await create_family(server)
    found = await graph(server, uid="gone-uid")
    assert {"shared", 'a "gone" \\one'} <= set(names(found))
    assert found["notes"] == ["uid gone-uid was not found anywhere"]


async def test_graph_of_a_cycle_has_each_object_once(server: InProcessServer) -> None:
    one = await create_configmap(server, "one")
    two = await create_configmap(server, "two", reference(one))
    one["metadata"]["ownerReferences"] = [reference(two), reference(one)]
    assert (await server.request("PUT", f"{FOLDER}/one", one)).code == 200
    found = await graph(server, uid=one["metadata"]["uid"])
    assert names(found) == ["one", "two"]
    assert len(found["edges"]) == 3


@pytest.mark.parametrize("limit", [3, 5])
async def test_graph_over_the_limit_is_marked_as_cut(server: InProcessServer, limit: int) -> None:
    owner = await create_configmap(server, "owner")
    for number in range(5):
        await create_configmap(server, f"child-{number}", reference(owner))
    query = {"uid": owner["metadata"]["uid"], "limit": limit}
    found = await graph(server, **query)
    assert (found["cut"], found["limit"], len(found["nodes"]), len(found["edges"])) == (True, limit, limit, limit - 1)
    response = await server.request("GET", PATH, query=query, accept="text/vnd.graphviz")
    assert f'label="cut: only the first {limit} objects are shown";' in response.body.decode()
    whole = await graph(server, **{**query, "limit": 6})
    assert (whole["cut"], len(whole["nodes"])) == (False, 6)


async def test_unreferenced_uid_is_searched_up_to_a_limit(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = await create_configmap(server, "stranger")
    uid = stranger["metadata"]["uid"]
    assert names(await graph(server, uid=uid)) == ["stranger"]
    monkeypatch.setattr("probate.server.ownership_api.graph.MAX_SCANNED", 1)
    monkeypatch.setattr("probate.server.ownership_api.graph.PAGE_SIZE", 1)
    await create_configmap(server, "before-it")
    found = await graph(server, uid=uid)
    assert (names(found), found["notes"]) == ([], [f"uid {uid} was not found among the first 1 objects"])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "select a part of the graph"),
        ({"uid": "a b"}, "is not a valid uid"),
        ({"uid": [f"u{number}" for number in range(51)]}, "give at most 50"),
        ({"uid": "a", "limit": "0x"}, "must be an integer"),
        ({"uid": "a", "limit": "5001"}, "the graph has at most 5000 objects"),
        ({"uid": "a", "limit": "-1"}, "the graph has at most 5000 objects"),
    ],
)
async def test_invalid_request_is_rejected_with_a_clear_message(server: InProcessServer, query: Any, message: str) -> None:
    response = await server.request("GET", PATH, query=query)
    assert (response.code, response.json["kind"]) == (400, "Status")
    assert message in response.json["message"]
