"""Blocking an owner by a reference takes the same right as blocking it by a finalizer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.server.authz.owner_checks import OwnerChecks
from support.in_process_server import Response
from support.owner_settings import set_owner_permissions
from support.rbac_server import RbacServer, running_with_rbac

MAPS = "/api/v1/namespaces/a/configmaps"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
WRITE = {"verbs": ["create", "update", "patch", "get", "delete"], "apiGroups": [""], "resources": ["configmaps"]}
FINALIZERS = {"verbs": ["update"], "apiGroups": [""], "resources": ["secrets/finalizers"]}


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        await item.grant("ann", WRITE, namespace="a")
        yield item


def reference(*, uid: str = "u", name: str = "owner", blocks: bool | None = True, kind: str = "Secret", version: str = "v1") -> Any:
    result = {"apiVersion": version, "kind": kind, "name": name, "uid": uid}
    return result if blocks is None else {**result, "blockOwnerDeletion": blocks}


async def uid_of(server: RbacServer, name: str = "owner", resource: str = "secrets", namespace: str = "a") -> str:
    """Returns the uid of a new owner."""
    created = await server.create(resource, namespace, {"metadata": {"name": name}})
    return str(created["metadata"]["uid"])


def dependent(*references: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": list(references)}}


async def create(server: RbacServer, body: Any) -> Response:
    return await server.ask_as("ann", "POST", MAPS, body=body)


async def patch(server: RbacServer, body: Any) -> Response:
    await server.create("configmaps", "a", {"metadata": {"name": "x"}})
    return await server.ask_as("ann", "PATCH", f"{MAPS}/x", body=body, media=MERGE)


async def update(server: RbacServer, body: Any) -> Response:
    await server.create("configmaps", "a", {"metadata": {"name": "x"}})
    return await server.ask_as("ann", "PUT", f"{MAPS}/x", body=body)


async def apply(server: RbacServer, body: Any) -> Response:
    return await server.ask_as("ann", "PATCH", f"{MAPS}/x", body=body, media=APPLY, query={"fieldManager": "ann"})


WAYS = {"create": create, "patch": patch, "update": update, "apply": apply}


@pytest.mark.parametrize("way", WAYS)
async def test_blocking_without_the_right_is_refused_naming_the_rule(server: RbacServer, way: str) -> None:
    refused = await WAYS[way](server, dependent(reference(blocks=False), reference(uid="v")))
    assert refused.code == 422, refused.body
    [cause] = refused.json["details"]["causes"]
    assert cause["field"] == "metadata.ownerReferences[1].blockOwnerDeletion"
    assert 'User "ann" cannot update resource "secrets/finalizers" in API group "" in the namespace "a"' in cause["message"]
    assert '{"verbs": ["update"], "apiGroups": [""], "resources": ["secrets/finalizers"]}' in cause["message"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "rule", [{"verbs": ["update"], "resources": ["secrets/finalizers"]}, {"verbs": ["update", "delete"], "resources": ["secrets"]}]
)
async def test_right_to_the_owner_allows_blocking_it(server: RbacServer, way: str, rule: Any) -> None:
    await server.grant("ann", {**rule, "apiGroups": [""], "resourceNames": ["owner"]}, namespace="a")
    assert (await WAYS[way](server, dependent(reference(uid=await uid_of(server))))).code in {200, 201}


@pytest.mark.parametrize("way", WAYS)
async def test_missing_and_mismatched_owners_get_the_same_error(server: RbacServer, way: str) -> None:
    await server.grant("ann", FINALIZERS, namespace="a")
    absent = await WAYS[way](server, dependent(reference()))
    await uid_of(server)
    another = await server.ask_as("ann", "POST", MAPS, body=dependent(reference()))
    assert (absent.code, another.code) == (422, 422)
    assert absent.json["details"]["causes"] == another.json["details"]["causes"]
    assert "there is no Secret owner with the uid u, so it cannot be blocked" in absent.json["message"]


async def test_check_can_be_switched_off(server: RbacServer) -> None:
    set_owner_permissions(server, OwnerChecks.NONE)
    assert (await create(server, dependent(reference()))).code == 201
    less = await server.ask_as("bob", "PATCH", f"{MAPS}/x", body={"metadata": {"ownerReferences": None}}, media=MERGE)
    assert less.code == 403
    await server.grant("bob", {**WRITE, "verbs": ["patch"]}, namespace="a")
    less = await server.ask_as("bob", "PATCH", f"{MAPS}/x", body={"metadata": {"ownerReferences": None}}, media=MERGE)
    assert less.code == 200


@pytest.mark.parametrize("verbs", [["update"], ["delete"], ["get", "list", "patch"]])
async def test_update_or_delete_alone_is_not_enough(server: RbacServer, verbs: list[str]) -> None:
    await server.grant("ann", {"verbs": verbs, "apiGroups": [""], "resources": ["secrets"]}, namespace="a")
    assert (await create(server, dependent(reference()))).code == 422


async def test_right_to_another_owner_is_not_enough(server: RbacServer) -> None:
    rule = {"verbs": ["update"], "apiGroups": [""], "resources": ["secrets/finalizers"], "resourceNames": ["other"]}
    await server.grant("ann", rule, namespace="a")
    assert (await create(server, dependent(reference(uid=await uid_of(server))))).code == 422
    assert (await create(server, dependent(reference(name="other", uid=await uid_of(server, "other"))))).code == 201


async def test_cluster_scoped_owner_needs_a_cluster_wide_right(server: RbacServer) -> None:
    rule = {"verbs": ["update"], "apiGroups": [""], "resources": ["nodes/finalizers"]}
    await server.grant("ann", rule, namespace="a")
    node = reference(kind="Node", uid=await uid_of(server, resource="nodes", namespace=""))
    refused = await create(server, dependent(node))
    assert "at the cluster scope" in refused.json["message"]
    await server.grant("ann", rule)
    assert (await create(server, dependent(node))).code == 201


async def test_error_does_not_reveal_whether_the_owner_exists(server: RbacServer) -> None:
    absent = await create(server, dependent(reference()))
    created = await server.create("secrets", "a", {"metadata": {"name": "owner"}})
    there = await create(server, dependent(reference()))
    exact = await create(server, dependent(reference(uid=created["metadata"]["uid"])))
    assert absent.code == there.code == exact.code == 422
    assert absent.json == there.json == exact.json


async def test_owner_of_an_unknown_kind_cannot_be_blocked(server: RbacServer) -> None:
    refused = await create(server, dependent(reference(kind="Orb", version="orbs.example.com/v1")))
    assert refused.code == 422
    assert "no kind Orb of orbs.example.com/v1 is served" in refused.json["message"]


async def test_non_blocking_reference_takes_a_right_only_if_configured(server: RbacServer) -> None:
    assert (await create(server, dependent(reference(blocks=False), reference(uid="v", blocks=None)))).code == 201
    set_owner_permissions(server, OwnerChecks.ALL)
    refused = await server.ask_as(
        "ann", "POST", MAPS, body={"metadata": {"name": "y", "ownerReferences": [reference(blocks=None)]}}
    )
    assert [item["field"] for item in refused.json["details"]["causes"]] == ["metadata.ownerReferences[0]"]


@pytest.mark.parametrize("owners", [OwnerChecks.BLOCKING, OwnerChecks.ALL])
async def test_existing_references_may_stay(server: RbacServer, owners: OwnerChecks) -> None:
    set_owner_permissions(server, owners)
    await server.create("configmaps", "a", dependent(reference()))
    response = await server.ask_as("ann", "PATCH", f"{MAPS}/x", body={"data": {"a": "b"}}, media=MERGE)
    assert response.code == 200
    less = await server.ask_as("ann", "PATCH", f"{MAPS}/x", body={"metadata": {"ownerReferences": None}}, media=MERGE)
    assert less.code == 200
    again = await server.ask_as("ann", "PATCH", f"{MAPS}/x", body={"metadata": {"ownerReferences": [reference()]}}, media=MERGE)
    assert again.code == 422
    assert (await server.request("GET", f"{MAPS}/x")).json["metadata"].get("ownerReferences") is None


async def test_reference_that_begins_to_block_takes_the_right(server: RbacServer) -> None:
    await server.create("configmaps", "a", dependent(reference(blocks=False)))
    response = await server.ask_as("ann", "PATCH", f"{MAPS}/x", body={"metadata": {"ownerReferences": [reference()]}}, media=MERGE)
    assert response.code == 422


async def test_master_may_block_anything(server: RbacServer) -> None:
    assert (await server.request("POST", MAPS, dependent(reference()))).code == 201
