"""Finds owners that are in another namespace than their dependents, by kind and name, in one namespace after the other.

Collection does not need this, because a reference across namespaces refers to nothing. It serves warnings and Events for users.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.ownership import Item, OwnerReference
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import keys
from probate.store.contract import Record, Store

MAX_NAMESPACES = 1_000
MAX_KEYS = 5_000
"""Keys that one call reads. Owners beyond this limit are reported as not found."""

_NAMESPACES = object_keys.namespace_range(storage_keys.NAMESPACES, "")


async def are_in_other_namespaces(
    store: Store, kind_of: Callable[[OwnerReference], Resource | None], references: Sequence[tuple[Item, OwnerReference]]
) -> list[bool]:
    """Returns, for each item and owner, whether the owner is in another namespace than the item."""
    namespaces = [object_keys.name_in(key) for key in (await store.scan(_NAMESPACES, limit=MAX_NAMESPACES)).keys]
    result, budget = [], MAX_KEYS
    for item, owner in references:
        kind = kind_of(owner)
        candidates = _candidate_keys(kind, namespaces, item, owner=owner) if kind is not None and kind.is_namespaced else []
        budget -= len(candidates)
        result.append(budget >= 0 and await _is_at_any(store, candidates, owner))
    return result


def _candidate_keys(kind: Resource, namespaces: list[str], item: Item, *, owner: OwnerReference) -> list[str]:
    candidates = [
        storage_keys.object_key(kind, namespace, owner.name) for namespace in namespaces if namespace != item.meta.namespace
    ]
    return [key for key in candidates if "/" not in owner.name and keys.is_valid(key)]


async def _is_at_any(store: Store, candidates: list[str], owner: OwnerReference) -> bool:
    records = await store.read_many(candidates) if candidates else []
    await asyncio.sleep(0)
    return any(isinstance(record, Record) and object_codec.meta(record.value).uid == owner.uid for record in records)
