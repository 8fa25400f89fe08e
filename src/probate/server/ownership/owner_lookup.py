"""Owners that are in a namespace from where they cannot own: looked for by their kind and name, in one namespace after the other.

Nobody needs this to collect: a reference across namespaces refers to nothing. It is for telling people what they have done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from probate.api.catalog import Resource
from probate.api.ownership import Item, Owner
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import keys
from probate.store.contract import Record, Store

MAX_NAMESPACES = 1_000
MAX_PLACES = 5_000
"""Places that are looked at in one go. What is left is not looked for."""

_NAMESPACES = f"objects/{storage_keys.NAMESPACES}/{storage_keys.NO_NAMESPACE}/"


async def elsewhere(store: Store, kind_of: Callable[[Owner], Resource | None], asked: Sequence[tuple[Item, Owner]]) -> list[bool]:
    """Whether each owner is in another namespace than the item."""
    namespaces = [key.rpartition("/")[2] for key in (await store.scan(_NAMESPACES, limit=MAX_NAMESPACES)).keys]
    found, room = [], MAX_PLACES
    for item, owner in asked:
        kind = kind_of(owner)
        wheres = _places(kind, namespaces, item, owner) if kind is not None and kind.is_namespaced else []
        room -= len(wheres)
        found.append(room >= 0 and await _is_at_any(store, wheres, owner))
    return found


def _places(kind: Resource, namespaces: list[str], item: Item, owner: Owner) -> list[str]:
    wheres = [storage_keys.of(kind, namespace, owner.name) for namespace in namespaces if namespace != item.meta.namespace]
    return [where for where in wheres if "/" not in owner.name and keys.is_sound(where)]


async def _is_at_any(store: Store, wheres: list[str], owner: Owner) -> bool:
    there = await store.read_many(wheres) if wheres else []
    await asyncio.sleep(0)
    return any(isinstance(record, Record) and object_codec.meta(record.value).uid == owner.uid for record in there)
