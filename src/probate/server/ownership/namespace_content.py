"""What lies in a namespace: looked up range by range, one for each resource that is stored at all.

No index says it. One would cost every object an entry, and be read once in the life of a namespace: when it goes. It goes in two
steps. It is closed first, and every create is guarded by an open namespace: so whoever reads a closed namespace, and then finds
nothing in it, knows that nothing will ever be. The transaction that removes the namespace asks only for the version that was read.
"""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.ownership import Places
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import keys
from probate.store.contract import Record, Store


async def is_held(store: Store, resource: Resource, now: Record) -> bool:
    """Whether this is a namespace that cannot go yet: it holds others, or somebody may still put something in."""
    if resource.group_resource != storage_keys.NAMESPACES:
        return False
    meta = object_codec.meta(now.value)
    return meta.deletion_timestamp is None or bool((await listed(store, meta.name, "", limit=1)).wheres)


async def listed(store: Store, namespace: str, more: str, *, limit: int, resource: str = "") -> Places:
    """What lies in the namespace, part by part, of one resource or of all: begin with no `more`."""
    folders = [f"{keys.OBJECTS}{resource}/"] if resource else await store.folders(keys.OBJECTS)
    found: list[str] = []
    for folder in folders:
        if keys.end_of(folder) <= more:
            continue
        page = await store.scan(f"{folder}{namespace}/", after=more, limit=limit - len(found))
        found += page.keys
        if len(found) == limit:
            return Places(found, found[-1])
    return Places(found)
