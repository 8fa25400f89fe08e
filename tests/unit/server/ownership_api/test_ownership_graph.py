"""`/debug/ownership` against golden files: `PROBATE_UPDATE=1` writes them anew. No collector runs, so that everything stays."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from support.in_process_server import FakeClock, House, running

PATH = "/debug/ownership"
FOLDER = "/api/v1/namespaces/default/configmaps"
GOLDEN = Path(__file__).parents[3] / "data"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(clock=FakeClock(), collects=False) as house:
        await house.create("namespaces", "", {"metadata": {"name": "other"}})
        yield house


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: House, name: str, *references: Any, namespace: str = "default") -> Any:
    return await house.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": references}})


async def make_family(house: House) -> dict[str, Any]:
    """One of everything that the graph can show."""
    house.uids = itertools.count(101)  # whatever a server makes for itself at its start
    top = await house.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "top"}, "value": 1})
    app = await make(house, "app", reference(top))
    part = await make(house, "part", reference(app, blockOwnerDeletion=True))
    leaving = await make(house, "leaving", reference(app, blockOwnerDeletion=True))
    left = await make(house, "left", reference(leaving))
    gone = {"apiVersion": "v1", "kind": "Secret", "name": 'a "gone" \\one', "uid": "gone-uid"}
    shared = await make(house, "shared", reference(app, blockOwnerDeletion=True), gone)
    await make(house, "far", reference(app, blockOwnerDeletion=True), namespace="other")
    await make(house, "unsure", {**reference(app), "apiVersion": "none.example.com/v1", "kind": "Nothing"})
    await make(house, "sibling", reference(top))
    await make(house, "stranger")
    assert (await house.ask("DELETE", f"{FOLDER}/app", {"propagationPolicy": "Foreground"})).code == 200
    assert (await house.ask("DELETE", f"{FOLDER}/leaving", {"propagationPolicy": "Orphan"})).code == 200
    return {"top": top, "app": app, "part": part, "leaving": leaving, "left": left, "shared": shared}


def check_is_golden(name: str, found: bytes) -> None:
    path = GOLDEN / name
    if os.environ.get("PROBATE_UPDATE"):
        path.write_bytes(found)
    assert found.decode() == path.read_text()


async def graph(house: House, **query: Any) -> Any:
    told = await house.ask("GET", PATH, query=query)
    assert told.code == 200, told.body
    assert told.headers["content-type"] == "application/json"
    return told.json


def names(found: Any) -> list[str]:
    return sorted(node["name"] for node in found["nodes"])


async def test_graph_as_dot_is_the_golden_one(house: House) -> None:
    family = await make_family(house)
    told = await house.ask("GET", PATH, query={"uid": family["app"]["metadata"]["uid"]}, accept="*/*")
    assert (told.code, told.headers["content-type"]) == (200, "text/vnd.graphviz; charset=utf-8")
    check_is_golden("ownership.dot", told.body)


async def test_graph_as_json_is_the_golden_one(house: House) -> None:
    family = await make_family(house)
    found = await graph(house, uid=family["app"]["metadata"]["uid"])
    check_is_golden("ownership.json", orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


async def test_graph_leads_up_to_all_owners_and_down_to_all_dependents_and_not_to_siblings(house: House) -> None:
    family = await make_family(house)
    found = await graph(house, uid=family["left"]["metadata"]["uid"])
    assert names(found) == ["app", "leaving", "left", "top"]
    found = await graph(house, uid=family["top"]["metadata"]["uid"])
    assert {"top", "app", "sibling", "left"} <= set(names(found))
    assert "stranger" not in names(found)


async def test_graph_of_an_object_by_its_name_is_that_by_its_uid(house: House) -> None:
    family = await make_family(house)
    named = await graph(house, apiVersion="v1", kind="ConfigMap", namespace="default", name="app")
    assert named == await graph(house, uid=family["app"]["metadata"]["uid"])


async def test_graph_of_a_namespace_has_what_is_owned_or_goes(house: House) -> None:
    await make_family(house)
    assert names(await graph(house, namespace="other")) == ["app", "far"]
    assert "stranger" not in names(await graph(house, namespace="default"))
    assert {"unsure", "leaving", "top"} <= set(names(await graph(house, namespace="default")))


async def test_graph_of_an_owner_that_is_gone_shows_who_refers_to_it(house: House) -> None:
    await make_family(house)
    found = await graph(house, uid="gone-uid")
    assert {"shared", 'a "gone" \\one'} <= set(names(found))
    assert found["notes"] == ["uid gone-uid was not found anywhere"]


async def test_graph_shows_a_circle_once(house: House) -> None:
    one = await make(house, "one")
    two = await make(house, "two", reference(one))
    one["metadata"]["ownerReferences"] = [reference(two), reference(one)]
    assert (await house.ask("PUT", f"{FOLDER}/one", one)).code == 200
    found = await graph(house, uid=one["metadata"]["uid"])
    assert names(found) == ["one", "two"]
    assert len(found["edges"]) == 3


@pytest.mark.parametrize("limit", [3, 5])
async def test_graph_that_is_too_large_is_cut_and_says_so(house: House, limit: int) -> None:
    owner = await make(house, "owner")
    for number in range(5):
        await make(house, f"child-{number}", reference(owner))
    query = {"uid": owner["metadata"]["uid"], "limit": limit}
    found = await graph(house, **query)
    assert (found["cut"], found["limit"], len(found["nodes"]), len(found["edges"])) == (True, limit, limit, limit - 1)
    told = await house.ask("GET", PATH, query=query, accept="text/vnd.graphviz")
    assert f'label="cut: only the first {limit} objects are shown";' in told.body.decode()
    whole = await graph(house, **{**query, "limit": 6})
    assert (whole["cut"], len(whole["nodes"])) == (False, 6)


async def test_object_that_nobody_refers_to_is_looked_for_within_a_bound(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = await make(house, "stranger")
    uid = stranger["metadata"]["uid"]
    assert names(await graph(house, uid=uid)) == ["stranger"]
    monkeypatch.setattr("probate.server.ownership_api.graph.WALK", 1)
    monkeypatch.setattr("probate.server.ownership_api.graph.SLICE", 1)
    await make(house, "before-it")
    found = await graph(house, uid=uid)
    assert (names(found), found["notes"]) == ([], [f"uid {uid} was not found among the first 1 objects"])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "say which part to show"),
        ({"uid": "a b"}, "is no uid"),
        ({"uid": [f"u{number}" for number in range(51)]}, "give at most 50"),
        ({"uid": "a", "limit": "0x"}, "must be a whole number"),
        ({"uid": "a", "limit": "5001"}, "at most 5000 objects are shown"),
        ({"uid": "a", "limit": "-1"}, "at most 5000 objects are shown"),
    ],
)
async def test_a_question_that_makes_no_sense_is_a_clear_status(house: House, query: Any, message: str) -> None:
    told = await house.ask("GET", PATH, query=query)
    assert (told.code, told.json["kind"]) == (400, "Status")
    assert message in told.json["message"]
