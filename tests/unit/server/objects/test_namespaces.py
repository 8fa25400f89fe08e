"""What the server does to namespaces when they are made, changed and deleted: NS-1 to NS-5."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import House, running

SPACE = "/api/v1/namespaces/a"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    """Nobody empties namespaces here."""
    async with running(collects=False) as one:
        yield one


async def make(house: House, **fields: Any) -> Any:
    return await house.create("namespaces", "", {"metadata": {"name": "a"}, **fields})


async def test_ns_1_a_new_namespace_is_active_and_kept_for_its_content(house: House) -> None:
    made = await make(house, spec={"finalizers": ["example.com/mine"]}, status={"phase": "Terminating"})
    assert made["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]
    assert made["status"]["phase"] == "Active"


async def test_ns_1_only_its_own_request_changes_what_a_namespace_is_kept_for(house: House) -> None:
    made = await make(house)
    wanted = {**made, "spec": {"finalizers": ["example.com/mine"]}, "status": {"phase": "Terminating"}}
    labelled = {**wanted, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    changed = (await house.ask("PUT", SPACE, labelled)).json
    assert (changed["metadata"]["labels"]["a"], changed["spec"], changed["status"]) == ("b", made["spec"], made["status"])
    rightly = {**changed, "spec": {"finalizers": ["example.com/mine"]}}
    assert (await house.ask("PUT", f"{SPACE}/finalize", rightly)).json["spec"] == {"finalizers": ["example.com/mine"]}


@pytest.mark.parametrize(("name", "code"), [("default", 403), ("kube-system", 403), ("kube-public", 403), ("kube-node-lease", 200)])
async def test_ns_2_some_namespaces_are_for_ever(house: House, name: str, code: int) -> None:
    told = await house.ask("DELETE", f"/api/v1/namespaces/{name}")
    assert told.code == code
    found = (await house.ask("GET", f"/api/v1/namespaces/{name}")).json
    assert ("deletionTimestamp" in found["metadata"]) == (code == 200)


@pytest.mark.parametrize(
    ("asked", "finalizers"),
    [
        ({}, None),
        ({"propagationPolicy": "Background"}, None),
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
    ],
)
async def test_ns_3_the_first_delete_closes_the_namespace_and_notes_what_is_wanted(
    house: House, asked: Any, finalizers: list[str] | None
) -> None:
    made = await make(house)
    told = await house.ask("DELETE", SPACE, asked)
    assert (told.code, told.json["kind"], told.json["status"]["phase"]) == (200, "Namespace", "Terminating")
    assert told.json["metadata"].get("finalizers") == finalizers
    assert told.json["metadata"]["uid"] == made["metadata"]["uid"]
    assert told.json["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("what", ["uid", "resourceVersion"])
async def test_ns_3_a_delete_that_means_another_is_refused(house: House, what: str) -> None:
    await make(house)
    told = await house.ask("DELETE", SPACE, {"preconditions": {what: "4711"}})
    assert (told.code, told.json["reason"]) == (409, "Conflict")
    assert "deletionTimestamp" not in (await house.ask("GET", SPACE)).json["metadata"]


async def test_ns_4_later_deletes_change_nothing_until_it_may_go(house: House) -> None:
    made = await make(house, metadata={"name": "a", "finalizers": ["example.com/hold"]})
    first = (await house.ask("DELETE", SPACE)).json
    again = await house.ask("DELETE", SPACE)
    assert (again.code, again.json) == (200, first)
    kept = (await house.ask("PUT", f"{SPACE}/finalize", {**first, "spec": {}})).json
    assert (kept["metadata"]["uid"], kept["spec"]) == (made["metadata"]["uid"], {})
    assert (await house.ask("DELETE", SPACE)).code == 200
    assert (await house.ask("GET", SPACE)).code == 200, "its other finalizers count"
    released = {**kept, "metadata": {**kept["metadata"], "finalizers": []}}
    assert (await house.ask("PUT", SPACE, released)).code == 200
    assert (await house.ask("GET", SPACE)).code == 404  # NS-5
