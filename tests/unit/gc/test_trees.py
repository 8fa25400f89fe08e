"""A tree of owners that is deleted in the foreground: which objects are removed in which commit."""

from __future__ import annotations

from typing import Any

from probate.store.sqlite.store import SqliteStore
from support.in_process_server import FakeClock, InProcessServer, running

FOLDER = "/api/v1/namespaces/default/configmaps"


async def create(house: InProcessServer, name: str, owner: Any = None, **meta: Any) -> Any:
    if owner is not None:
        about = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", **about}]
    return await house.create("configmaps", "default", {"metadata": {"name": name, **meta}})


async def tree(house: InProcessServer, **first_leaf_meta: Any) -> None:
    """Creates a root, two children, and two leaves of each."""
    root = await create(house, "root")
    for number in range(2):
        child = await create(house, f"child-{number}", root)
        for leaf in range(2):
            await create(house, f"leaf-{number}-{leaf}", child, **({} if number or leaf else first_leaf_meta))
    await house.yield_to_loop()
    assert isinstance(house.clock, FakeClock)
    await house.clock.advance(1)  # all of them are old news, and the collector has noted so
    await house.yield_to_loop()


async def delete_root(house: InProcessServer) -> int:
    """Deletes the root in the foreground. Returns the number of commits until the collector is idle."""
    assert isinstance(house.engine, SqliteStore)
    before = house.engine.groups_written
    assert (await house.request("DELETE", f"{FOLDER}/root", {"propagationPolicy": "Foreground"})).code == 200
    await house.yield_to_loop()
    return house.engine.groups_written - before


async def names(house: InProcessServer) -> set[str]:
    return {one["metadata"]["name"] for one in (await house.request("GET", FOLDER)).json["items"]}


async def test_owners_are_removed_in_the_same_commit_as_their_last_dependent() -> None:
    """Each level took a turn of its own."""
    async with running(clock=FakeClock()) as house:
        await tree(house)
        commits = await delete_root(house)
        assert await names(house) == set()
        assert house.collector.done == {"delete": 6, "release": 3}
        assert commits == 3  # the root is marked, then its children, then all go


async def test_held_leaf_holds_its_owners_and_no_other_object() -> None:
    async with running(clock=FakeClock()) as house:
        await tree(house, finalizers=["example.com/hold"])
        await delete_root(house)
        assert await names(house) == {"root", "child-0", "leaf-0-0"}
        await house.request("PATCH", f"{FOLDER}/leaf-0-0", {"metadata": {"finalizers": None}}, media="application/merge-patch+json")
        await house.yield_to_loop()
        assert await names(house) == set()
