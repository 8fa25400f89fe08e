"""Owners of which something else is wanted while the collector acts on what was wanted before."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.ownership import Meta
from probate.server.codec import object_codec
from support.virtual_time_server import MERGE_PATCH, Cluster, in_memory

HOLD = "example.com/hold"
FOLDER = "/api/v1/namespaces/default/configmaps"
OWNER = f"{FOLDER}/owner"
TURNS = 15
"""Of the event loop, in which an owner is marked and its dependents are let go."""


def owned_by(*owners: Any) -> list[Any]:
    blocking = {"apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": True}
    return [{**blocking, "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]} for one in owners]


async def create(cluster: Cluster, name: str, **meta: Any) -> Any:
    return await cluster.create("configmaps", "default", {"metadata": {"name": name, **meta}})


async def finalize(cluster: Cluster, path: str, finalizers: list[str] | None) -> None:
    assert (await cluster.ask("PATCH", path, {"metadata": {"finalizers": finalizers}}, media=MERGE_PATCH)).code == 200


async def delete(cluster: Cluster, path: str, policy: str) -> None:
    assert (await cluster.ask("DELETE", path, {"propagationPolicy": policy})).code == 200


def others_when_references_went(cluster: Cluster, name: str, other: str) -> list[Meta | None]:
    """How the other stood whenever the object lost a reference; None if it was gone."""
    found: list[Meta | None] = []
    standing: Meta | None = None
    for event in [one for one in cluster.events if one.key.startswith("objects/configmaps/")]:
        after = None if event.value is None else object_codec.meta(event.value)
        if event.key.endswith(f"/{other}"):
            standing = after
        elif event.key.endswith(f"/{name}") and event.previous is not None and after is not None:
            lost = len(after.owner_references) < len(object_codec.meta(event.previous.value).owner_references)
            found += [standing] if lost else []
    return found


@pytest.mark.parametrize("turns", range(TURNS))
async def test_dependent_is_let_go_only_while_its_owner_orphans(turns: int) -> None:
    async with in_memory() as cluster:
        owner = await create(cluster, "owner", finalizers=[HOLD])
        await create(cluster, "dependent", ownerReferences=owned_by(owner))
        await cluster.settle()
        await delete(cluster, OWNER, "Orphan")
        await cluster.turns(turns)
        await finalize(cluster, OWNER, None)  # by hand: it goes at once, and orphans nobody any more
        await cluster.settle()
        owners = others_when_references_went(cluster, "dependent", "owner")
        assert all(one is not None and "orphan" in one.finalizers for one in owners)
        assert (await cluster.ask("GET", f"{FOLDER}/dependent")).code == (200 if owners else 404)


@pytest.mark.parametrize("turns", range(TURNS))
async def test_reference_to_an_owner_that_waits_no_more_is_kept(turns: int) -> None:
    async with in_memory() as cluster:
        owner, other = await create(cluster, "owner", finalizers=[HOLD]), await create(cluster, "other")
        await create(cluster, "dependent", ownerReferences=owned_by(owner, other))
        await cluster.settle()
        await delete(cluster, OWNER, "Foreground")
        await cluster.turns(turns)
        await finalize(cluster, OWNER, [HOLD])  # by hand: it waits for nobody any more
        await cluster.settle()
        owners = others_when_references_went(cluster, "dependent", "owner")
        assert all(one is not None and "foregroundDeletion" in one.finalizers for one in owners)


@pytest.mark.parametrize("turns", range(TURNS))
async def test_object_is_kept_only_for_an_owner_that_is_there(turns: int) -> None:
    async with in_memory() as cluster:
        owner, other = await create(cluster, "owner", finalizers=[HOLD]), await create(cluster, "other")
        await create(cluster, "dependent", ownerReferences=owned_by(owner, other))
        await cluster.settle()
        await delete(cluster, OWNER, "Foreground")
        await cluster.turns(turns)
        await delete(cluster, f"{FOLDER}/other", "Background")
        await cluster.settle()
        assert all(one is not None for one in others_when_references_went(cluster, "dependent", "other"))
        assert (await cluster.ask("GET", f"{FOLDER}/dependent")).code == 404
