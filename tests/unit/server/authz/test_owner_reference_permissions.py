"""To hold an owner takes the right to hold it: through a reference as through a finalizer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.server.authz.owner_checks import Owners
from support.in_process_server import Told
from support.rbac_server import Guarded, guarded

MAPS = "/api/v1/namespaces/a/configmaps"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
WRITE = {"verbs": ["create", "update", "patch", "get", "delete"], "apiGroups": [""], "resources": ["configmaps"]}
FINALIZERS = {"verbs": ["update"], "apiGroups": [""], "resources": ["secrets/finalizers"]}


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        await one.grant("ann", WRITE, namespace="a")
        yield one


def reference(*, uid: str = "u", name: str = "owner", blocks: bool | None = True, kind: str = "Secret", version: str = "v1") -> Any:
    found = {"apiVersion": version, "kind": kind, "name": name, "uid": uid}
    return found if blocks is None else {**found, "blockOwnerDeletion": blocks}


async def uid_of(house: Guarded, name: str = "owner", resource: str = "secrets", namespace: str = "a") -> str:
    """That of a new owner."""
    made = await house.create(resource, namespace, {"metadata": {"name": name}})
    return str(made["metadata"]["uid"])


def dependent(*references: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": list(references)}}


async def create(house: Guarded, body: Any) -> Told:
    return await house.ask_as("ann", "POST", MAPS, body)


async def patch(house: Guarded, body: Any) -> Told:
    await house.create("configmaps", "a", {"metadata": {"name": "x"}})
    return await house.ask_as("ann", "PATCH", f"{MAPS}/x", body, media=MERGE)


async def update(house: Guarded, body: Any) -> Told:
    await house.create("configmaps", "a", {"metadata": {"name": "x"}})
    return await house.ask_as("ann", "PUT", f"{MAPS}/x", body)


async def apply(house: Guarded, body: Any) -> Told:
    return await house.ask_as("ann", "PATCH", f"{MAPS}/x", body, media=APPLY, query={"fieldManager": "ann"})


WAYS = {"create": create, "patch": patch, "update": update, "apply": apply}


@pytest.mark.parametrize("way", WAYS)
async def test_blocking_an_owner_without_the_right_to_hold_it_is_refused_naming_the_rule(house: Guarded, way: str) -> None:
    refused = await WAYS[way](house, dependent(reference(blocks=False), reference(uid="v")))
    assert refused.code == 422, refused.body
    [cause] = refused.json["details"]["causes"]
    assert cause["field"] == "metadata.ownerReferences[1].blockOwnerDeletion"
    assert 'User "ann" cannot update resource "secrets/finalizers" in API group "" in the namespace "a"' in cause["message"]
    assert '{"verbs": ["update"], "apiGroups": [""], "resources": ["secrets/finalizers"]}' in cause["message"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "rule", [{"verbs": ["update"], "resources": ["secrets/finalizers"]}, {"verbs": ["update", "delete"], "resources": ["secrets"]}]
)
async def test_who_may_hold_the_owner_may_block_it(house: Guarded, way: str, rule: Any) -> None:
    await house.grant("ann", {**rule, "apiGroups": [""], "resourceNames": ["owner"]}, namespace="a")
    assert (await WAYS[way](house, dependent(reference(uid=await uid_of(house))))).code in {200, 201}


@pytest.mark.parametrize("way", WAYS)
async def test_owner_that_is_not_there_or_another_cannot_be_held_and_which_of_both_is_not_told(house: Guarded, way: str) -> None:
    await house.grant("ann", FINALIZERS, namespace="a")
    absent = await WAYS[way](house, dependent(reference()))
    await uid_of(house)
    another = await house.ask_as("ann", "POST", MAPS, dependent(reference()))
    assert (absent.code, another.code) == (422, 422)
    assert absent.json["details"]["causes"] == another.json["details"]["causes"]
    assert "there is no Secret owner with the uid u, so it cannot be held" in absent.json["message"]


async def test_nothing_is_asked_if_that_is_wanted(house: Guarded) -> None:
    house.api.owners = Owners.NONE
    assert (await create(house, dependent(reference()))).code == 201
    less = await house.ask_as("bob", "PATCH", f"{MAPS}/x", {"metadata": {"ownerReferences": None}}, media=MERGE)
    assert less.code == 403
    await house.grant("bob", {**WRITE, "verbs": ["patch"]}, namespace="a")
    less = await house.ask_as("bob", "PATCH", f"{MAPS}/x", {"metadata": {"ownerReferences": None}}, media=MERGE)
    assert less.code == 200


@pytest.mark.parametrize("verbs", [["update"], ["delete"], ["get", "list", "patch"]])
async def test_half_of_the_right_is_none(house: Guarded, verbs: list[str]) -> None:
    await house.grant("ann", {"verbs": verbs, "apiGroups": [""], "resources": ["secrets"]}, namespace="a")
    assert (await create(house, dependent(reference()))).code == 422


async def test_right_to_another_owner_is_none(house: Guarded) -> None:
    rule = {"verbs": ["update"], "apiGroups": [""], "resources": ["secrets/finalizers"], "resourceNames": ["other"]}
    await house.grant("ann", rule, namespace="a")
    assert (await create(house, dependent(reference(uid=await uid_of(house))))).code == 422
    assert (await create(house, dependent(reference(name="other", uid=await uid_of(house, "other"))))).code == 201


async def test_right_to_a_cluster_wide_owner_has_to_be_cluster_wide(house: Guarded) -> None:
    rule = {"verbs": ["update"], "apiGroups": [""], "resources": ["nodes/finalizers"]}
    await house.grant("ann", rule, namespace="a")
    node = reference(kind="Node", uid=await uid_of(house, resource="nodes", namespace=""))
    refused = await create(house, dependent(node))
    assert "at the cluster scope" in refused.json["message"]
    await house.grant("ann", rule)
    assert (await create(house, dependent(node))).code == 201


async def test_refusal_says_nothing_about_whether_the_owner_is_there(house: Guarded) -> None:
    absent = await create(house, dependent(reference()))
    made = await house.create("secrets", "a", {"metadata": {"name": "owner"}})
    there = await create(house, dependent(reference()))
    exact = await create(house, dependent(reference(uid=made["metadata"]["uid"])))
    assert absent.code == there.code == exact.code == 422
    assert absent.json == there.json == exact.json


async def test_owner_of_an_unknown_kind_cannot_be_blocked(house: Guarded) -> None:
    refused = await create(house, dependent(reference(kind="Orb", version="orbs.example.com/v1")))
    assert refused.code == 422
    assert "no kind Orb of orbs.example.com/v1 is served" in refused.json["message"]


async def test_reference_that_does_not_block_takes_no_right_unless_that_is_wanted(house: Guarded) -> None:
    assert (await create(house, dependent(reference(blocks=False), reference(uid="v", blocks=None)))).code == 201
    house.api.owners = Owners.ALL
    refused = await house.ask_as("ann", "POST", MAPS, {"metadata": {"name": "y", "ownerReferences": [reference(blocks=None)]}})
    assert [one["field"] for one in refused.json["details"]["causes"]] == ["metadata.ownerReferences[0]"]


@pytest.mark.parametrize("owners", [Owners.BLOCKING, Owners.ALL])
async def test_what_somebody_else_has_set_can_stay(house: Guarded, owners: Owners) -> None:
    house.api.owners = owners
    await house.create("configmaps", "a", dependent(reference()))
    told = await house.ask_as("ann", "PATCH", f"{MAPS}/x", {"data": {"a": "b"}}, media=MERGE)
    assert told.code == 200
    less = await house.ask_as("ann", "PATCH", f"{MAPS}/x", {"metadata": {"ownerReferences": None}}, media=MERGE)
    assert less.code == 200
    again = await house.ask_as("ann", "PATCH", f"{MAPS}/x", {"metadata": {"ownerReferences": [reference()]}}, media=MERGE)
    assert again.code == 422
    assert (await house.ask("GET", f"{MAPS}/x")).json["metadata"].get("ownerReferences") is None


async def test_reference_that_begins_to_block_takes_the_right(house: Guarded) -> None:
    await house.create("configmaps", "a", dependent(reference(blocks=False)))
    told = await house.ask_as("ann", "PATCH", f"{MAPS}/x", {"metadata": {"ownerReferences": [reference()]}}, media=MERGE)
    assert told.code == 422


async def test_master_may_block_anything(house: Guarded) -> None:
    assert (await house.ask("POST", MAPS, dependent(reference()))).code == 201
