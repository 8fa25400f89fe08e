"""Warns of references across namespaces: the owner is there, but where it cannot own the one that refers to it.

Such a reference counts as one to an owner that is gone, and its object is collected, to the surprise of many. Whether it is one is
looked up only for owners that are not where they should be and were not just seen to go: ordinary cascades ask nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable

from probate.api.ownership import Item, Owner, Standing
from probate.gc.backend import World
from probate.gc.decide import Owners

REASON = "OwnerRefInvalidNamespace"
_ASTRAY = (Standing.DANGLING, Standing.OUT_OF_REACH)


async def warn(world: World, families: Iterable[tuple[list[Item], Owners]], gone: Container[str]) -> None:
    """Tell the items of each family, by an Event, which of their owners are in another namespace."""
    astray: dict[tuple[str, Owner], list[Item]] = {}
    for items, owners in families:
        for owner, seen in owners:
            if seen.standing in _ASTRAY and owner.uid not in gone:
                astray.setdefault((items[0].meta.namespace, owner), []).extend(items)
    if not astray:
        return
    found = await world.elsewhere([(items[0], owner) for (_, owner), items in astray.items()])
    strays = [(owner, items) for ((_, owner), items), is_there in zip(astray.items(), found, strict=True) if is_there]
    await asyncio.gather(*(world.warn(item, REASON, _message(item, owner)) for owner, items in strays for item in items))


def _message(item: Item, owner: Owner) -> str:
    namespace = item.meta.namespace
    said = f"[{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}]"
    return f'ownerRef {said} does not exist in namespace "{namespace}"'
