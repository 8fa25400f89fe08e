"""Creating, updating and deleting namespaces in the server, without the namespace controller: NS-1 to NS-5."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import InProcessServer, running

SPACE = "/api/v1/namespaces/a"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    """A server without collector and namespace controller."""
    async with running(collects=False) as one:
        yield one


async def create_namespace(server: InProcessServer, **fields: Any) -> Any:
    return await server.create("namespaces", "", {"metadata": {"name": "a"}, **fields})


async def test_ns_1_new_namespace_is_active_and_has_the_content_finalizer(server: InProcessServer) -> None:
    made = await create_namespace(server, spec={"finalizers": ["example.com/mine"]}, status={"phase": "Terminating"})
    assert made["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]
    assert made["status"]["phase"] == "Active"


async def test_ns_1_only_the_finalize_subresource_changes_spec_finalizers(server: InProcessServer) -> None:
    made = await create_namespace(server)
    wanted = {**made, "spec": {"finalizers": ["example.com/mine"]}, "status": {"phase": "Terminating"}}
    labelled = {**wanted, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    changed = (await server.request("PUT", SPACE, labelled)).json
    assert (changed["metadata"]["labels"]["a"], changed["spec"], changed["status"]) == ("b", made["spec"], made["status"])
    rightly = {**changed, "spec": {"finalizers": ["example.com/mine"]}}
    assert (await server.request("PUT", f"{SPACE}/finalize", rightly)).json["spec"] == {"finalizers": ["example.com/mine"]}


@pytest.mark.parametrize(("name", "code"), [("default", 403), ("kube-system", 403), ("kube-public", 403), ("kube-node-lease", 200)])
async def test_ns_2_protected_namespaces_cannot_be_deleted(server: InProcessServer, name: str, code: int) -> None:
    response = await server.request("DELETE", f"/api/v1/namespaces/{name}")
    assert response.code == code
    found = (await server.request("GET", f"/api/v1/namespaces/{name}")).json
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
async def test_ns_3_first_delete_closes_the_namespace_and_records_the_propagation_policy(
    server: InProcessServer, asked: Any, finalizers: list[str] | None
) -> None:
    made = await create_namespace(server)
    response = await server.request("DELETE", SPACE, asked)
    assert (response.code, response.json["kind"], response.json["status"]["phase"]) == (200, "Namespace", "Terminating")
    assert response.json["metadata"].get("finalizers") == finalizers
    assert response.json["metadata"]["uid"] == made["metadata"]["uid"]
    assert response.json["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("what", ["uid", "resourceVersion"])
async def test_ns_3_delete_with_a_failed_precondition_is_rejected(server: InProcessServer, what: str) -> None:
    await create_namespace(server)
    response = await server.request("DELETE", SPACE, {"preconditions": {what: "4711"}})
    assert (response.code, response.json["reason"]) == (409, "Conflict")
    assert "deletionTimestamp" not in (await server.request("GET", SPACE)).json["metadata"]


async def test_ns_4_later_deletes_change_nothing_until_the_namespace_is_empty(server: InProcessServer) -> None:
    made = await create_namespace(server, metadata={"name": "a", "finalizers": ["example.com/hold"]})
    first = (await server.request("DELETE", SPACE)).json
    again = await server.request("DELETE", SPACE)
    assert (again.code, again.json) == (200, first)
    kept = (await server.request("PUT", f"{SPACE}/finalize", {**first, "spec": {}})).json
    assert (kept["metadata"]["uid"], kept["spec"]) == (made["metadata"]["uid"], {})
    assert (await server.request("DELETE", SPACE)).code == 200
    assert (await server.request("GET", SPACE)).code == 200, "its other finalizers count"
    released = {**kept, "metadata": {**kept["metadata"], "finalizers": []}}
    assert (await server.request("PUT", SPACE, released)).code == 200
    assert (await server.request("GET", SPACE)).code == 404  # NS-5
