"""A tree that is deleted in the foreground: who goes with whom."""

from __future__ import annotations

from typing import Any

from probate.store.sqlite.store import SqliteStore
from support.in_process_server import FakeClock, House, running

FOLDER = "/api/v1/namespaces/default/configmaps"


async def plant(house: House, name: str, owner: Any = None, **meta: Any) -> Any:
    if owner is not None:
        about = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", **about}]
    return await house.create("configmaps", "default", {"metadata": {"name": name, **meta}})


async def tree(house: House, **of_the_first_leaf: Any) -> None:
    """A root, two children, two leaves of each."""
    root = await plant(house, "root")
    for number in range(2):
        child = await plant(house, f"child-{number}", root)
        for leaf in range(2):
            await plant(house, f"leaf-{number}-{leaf}", child, **({} if number or leaf else of_the_first_leaf))
    await house.turns()
    assert isinstance(house.clock, FakeClock)
    await house.clock.advance(1)  # all of them are old news, and the collector has noted so
    await house.turns()


async def fell(house: House) -> int:
    """Delete the root in the foreground. Returns in how many commits all that was done that could be."""
    assert isinstance(house.store, SqliteStore)
    before = house.store.groups_written
    assert (await house.ask("DELETE", f"{FOLDER}/root", {"propagationPolicy": "Foreground"})).code == 200
    await house.turns()
    return house.store.groups_written - before


async def names(house: House) -> set[str]:
    return {one["metadata"]["name"] for one in (await house.ask("GET", FOLDER)).json["items"]}


async def test_owners_go_in_the_same_commit_as_the_last_they_waited_for() -> None:
    """Each level took a turn of its own."""
    async with running(clock=FakeClock()) as house:
        await tree(house)
        commits = await fell(house)
        assert await names(house) == set()
        assert house.collector.done == {"Delete": 6, "Release": 3}
        assert commits == 3  # the root is marked, then its children, then all go


async def test_one_that_is_held_holds_its_owners_and_nobody_else() -> None:
    async with running(clock=FakeClock()) as house:
        await tree(house, finalizers=["example.com/hold"])
        await fell(house)
        assert await names(house) == {"root", "child-0", "leaf-0-0"}
        await house.ask("PATCH", f"{FOLDER}/leaf-0-0", {"metadata": {"finalizers": None}}, media="application/merge-patch+json")
        await house.turns()
        assert await names(house) == set()
