"""Warns about references across namespaces: the owner exists, but in a namespace from which it cannot own the object.

Such a reference counts as one to a dangling owner, and its object is collected, to the surprise of many users. Only owners that
were not found, and were not just seen to be removed, are searched for in other namespaces: ordinary cascades cost no reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable

from probate.api.ownership import Item, OwnerReference, OwnerState
from probate.gc.backend import Backend
from probate.gc.decide import Owners

REASON = "OwnerRefInvalidNamespace"
_NOT_FOUND = (OwnerState.DANGLING, OwnerState.UNRESOLVABLE)


async def warn(backend: Backend, families: Iterable[tuple[list[Item], Owners]], removed: Container[str]) -> None:
    """Records a warning Event about each item that has an owner in another namespace. `removed` has uids of removed owners."""
    suspects: dict[tuple[str, OwnerReference], list[Item]] = {}
    for items, owners in families:
        for owner, resolved in owners:
            if resolved.state in _NOT_FOUND and owner.uid not in removed:
                suspects.setdefault((items[0].meta.namespace, owner), []).extend(items)
    if not suspects:
        return
    exist = await backend.exist_in_other_namespaces([(items[0], owner) for (_, owner), items in suspects.items()])
    invalid = [(owner, items) for ((_, owner), items), exists in zip(suspects.items(), exist, strict=True) if exists]
    warnings = [backend.record_warning(item, REASON, _message(item, owner)) for owner, items in invalid for item in items]
    await asyncio.gather(*warnings)


def _message(item: Item, owner: OwnerReference) -> str:
    namespace = item.meta.namespace
    reference = f"[{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}]"
    return f'ownerRef {reference} does not exist in namespace "{namespace}"'
