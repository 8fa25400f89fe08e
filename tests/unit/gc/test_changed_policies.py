"""Owners that are deleted again with another policy while the collector acts on the first one."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.ownership import ObjectMeta
from probate.server.codec import object_codec
from support.virtual_time_server import MERGE_PATCH, VirtualTimeServer, in_memory

HOLD = "example.com/hold"
FOLDER = "/api/v1/namespaces/default/configmaps"
OWNER = f"{FOLDER}/owner"
TURNS = 15
"""Turns of the event loop, within which an owner is marked and its dependents are orphaned."""


def owned_by(*owners: Any) -> list[Any]:
    blocking = {"apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": True}
    return [{**blocking, "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]} for one in owners]


async def create(cluster: VirtualTimeServer, name: str, **meta: Any) -> Any:
    return await cluster.create("configmaps", "default", {"metadata": {"name": name, **meta}})


async def finalize(cluster: VirtualTimeServer, path: str, finalizers: list[str] | None) -> None:
    assert (await cluster.request("PATCH", path, {"metadata": {"finalizers": finalizers}}, media=MERGE_PATCH)).code == 200


async def delete(cluster: VirtualTimeServer, path: str, policy: str) -> None:
    assert (await cluster.request("DELETE", path, {"propagationPolicy": policy})).code == 200


def other_owners_when_references_were_removed(cluster: VirtualTimeServer, name: str, other: str) -> list[ObjectMeta | None]:
    """Returns the other owner's metadata whenever the object lost a reference; None if the owner was gone."""
    found: list[ObjectMeta | None] = []
    standing: ObjectMeta | None = None
    for event in [one for one in cluster.events if one.key.startswith("objects/configmaps/")]:
        after = None if event.value is None else object_codec.meta(event.value)
        if event.key.endswith(f"/{other}"):
            standing = after
        elif event.key.endswith(f"/{name}") and event.previous is not None and after is not None:
            lost = len(after.owner_references) < len(object_codec.meta(event.previous.value).owner_references)
            found += [standing] if lost else []
    return found


@pytest.mark.parametrize("turns", range(TURNS))
async def test_dependent_is_orphaned_only_while_its_owner_orphans(turns: int) -> None:
    async with in_memory() as cluster:
        owner = await create(cluster, "owner", finalizers=[HOLD])
        await create(cluster, "dependent", ownerReferences=owned_by(owner))
        await cluster.settle()
        await delete(cluster, OWNER, "Orphan")
        await cluster.yield_to_loop(turns)
        await finalize(cluster, OWNER, None)  # by hand: it goes at once, and orphans nobody any more
        await cluster.settle()
        owners = other_owners_when_references_were_removed(cluster, "dependent", "owner")
        assert all(one is not None and "orphan" in one.finalizers for one in owners)
        assert (await cluster.request("GET", f"{FOLDER}/dependent")).code == (200 if owners else 404)


@pytest.mark.parametrize("turns", range(TURNS))
async def test_reference_to_an_owner_that_is_no_longer_waiting_is_kept(turns: int) -> None:
    async with in_memory() as cluster:
        owner, other = await create(cluster, "owner", finalizers=[HOLD]), await create(cluster, "other")
        await create(cluster, "dependent", ownerReferences=owned_by(owner, other))
        await cluster.settle()
        await delete(cluster, OWNER, "Foreground")
        await cluster.yield_to_loop(turns)
        await finalize(cluster, OWNER, [HOLD])  # by hand: it waits for nobody any more
        await cluster.settle()
        owners = other_owners_when_references_were_removed(cluster, "dependent", "owner")
        assert all(one is not None and "foregroundDeletion" in one.finalizers for one in owners)


@pytest.mark.parametrize("turns", range(TURNS))
async def test_object_is_kept_only_for_an_owner_that_exists(turns: int) -> None:
    async with in_memory() as cluster:
        owner, other = await create(cluster, "owner", finalizers=[HOLD]), await create(cluster, "other")
        await create(cluster, "dependent", ownerReferences=owned_by(owner, other))
        await cluster.settle()
        await delete(cluster, OWNER, "Foreground")
        await cluster.yield_to_loop(turns)
        await delete(cluster, f"{FOLDER}/other", "Background")
        await cluster.settle()
        assert all(one is not None for one in other_owners_when_references_were_removed(cluster, "dependent", "other"))
        assert (await cluster.request("GET", f"{FOLDER}/dependent")).code == 404
