"""The content of a namespace: found by scanning one range for each resource that is stored.

There is no index of it. An index would cost each object an entry and be read once per namespace: when the namespace is deleted. A
namespace is deleted in two steps. It is closed first, and every create is guarded by an open namespace. So if a closed namespace is
read first and then found empty, it stays empty, and the transaction that removes it is guarded by its revision only.
"""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.object_keys import Key
from probate.api.ownership import KeyPage
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import keys
from probate.store.contract import Record, Store


async def has_content(store: Store, resource: Resource, record: Record) -> bool:
    """Whether this is a namespace that cannot be removed yet: it has content, or it is still open."""
    if resource.group_resource != storage_keys.NAMESPACES:
        return False
    meta = object_codec.meta(record.value)
    return meta.deletion_timestamp is None or bool((await list_keys(store, meta.name, "", limit=1)).keys)


async def list_keys(store: Store, namespace: str, continue_key: str, *, limit: int, resource: str = "") -> KeyPage:
    """Returns a page of the keys in a namespace, of one resource or of all. Pass an empty `continue_key` for the first page."""
    folders = [f"{keys.OBJECTS}{resource}/"] if resource else await store.child_prefixes(keys.OBJECTS)
    result: list[Key] = []
    for folder in folders:
        if keys.range_end(folder) <= continue_key:
            continue
        page = await store.scan(f"{folder}{namespace}/", after=continue_key, limit=limit - len(result))
        result += map(Key, page.keys)
        if len(result) == limit:
            return KeyPage(result, result[-1])
    return KeyPage(result)
