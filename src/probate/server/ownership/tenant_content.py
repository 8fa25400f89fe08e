"""The objects of a tenant, as the index lists them, and those that a new tenant would find under its names.

An object belongs to a tenant if the index says so (`api.tenants`). Names alone decide nothing, except once: a Tenant is not created
while anything has a name that begins with its ID. The index lists such objects too, if they were created since it does; others are
found by their keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.api.object_keys import Key
from probate.api.ownership import KeyPage
from probate.server.storage import index_entries, storage_keys
from probate.store import keys, pagination
from probate.store.contract import Store

PAGE = 500
_LAST = "\U0010ffff"
_NAMED_BY_GROUP = frozenset({str(storage_keys.CRDS), "apiservices.apiregistration.k8s.io"})
"""Resources whose names end with an API group, which is what a tenant's prefix is put in front of."""


async def list_keys(
    store: Store, tenant: str, continue_entry: str, *, limit: int, resources: Collection[str] = (), but: Collection[str] = ()
) -> KeyPage:
    """Returns a page of the keys of a tenant's objects: of these resources, or of all `but` some. The first page has no token."""
    result: list[Key] = []
    for range_ in await _ranges(store, tenant, resources=resources, but=but):
        if keys.range_end(range_) <= continue_entry:
            continue
        page = await store.scan(range_, after=continue_entry, limit=limit - len(result))
        result += [index_entries.object_key_of(record.key) for record in page.records]
        if len(result) == limit:
            return KeyPage(result, page.last_key)
    return KeyPage(result)


async def _ranges(store: Store, tenant: str, *, resources: Collection[str], but: Collection[str]) -> list[str]:
    """Returns the ranges of the entries, one for each resource, in order."""
    if resources:
        return sorted(tenants.resource_content_range(tenant, resource) for resource in resources)
    left_out = {tenants.resource_content_range(tenant, resource) for resource in but}
    return [range_ for range_ in await _all_ranges(store, tenant) if range_ not in left_out]


async def _all_ranges(store: Store, tenant: str) -> list[str]:
    return await store.child_prefixes(f"{tenants.content_range(tenant)}{keys.OBJECTS}")


async def count(store: Store, tenant: str) -> Counter[GroupResource]:
    """Returns how many objects of each resource a tenant has."""
    counts: Counter[GroupResource] = Counter()
    for range_ in await _all_ranges(store, tenant):
        number = await store.count(range_)
        if number:
            counts[object_keys.parse_resource(range_.split("/")[-2])] = number
    return counts


async def find_objects_in_the_way(store: Store, tenant: str, *, limit: int) -> list[Key]:
    """Returns some of the objects whose names begin with the ID of a tenant that does not exist yet."""
    found = (await list_keys(store, tenant, "", limit=limit)).keys
    for folder in await store.child_prefixes(keys.OBJECTS):
        if len(found) >= limit:
            break
        found += [key for key in await _named(store, folder, tenant, limit=limit) if key not in found]
    return found[:limit]


async def _named(store: Store, folder: str, tenant: str, *, limit: int) -> list[Key]:
    """Returns the objects of a resource that a new tenant would take over: all of them, if it is of the tenant's own group."""
    resource = object_keys.resource_in(folder)
    if tenants.id_in_name(resource.partition(".")[2]) == tenant:
        return [Key(key) for key in (await store.scan(folder, limit=limit)).keys]
    cluster_scoped = f"{folder}{object_keys.NO_NAMESPACE}/"
    if resource in _NAMED_BY_GROUP:
        pages = [page.keys async for page in pagination.pages(store, cluster_scoped, size=PAGE)]
        return [Key(key) for keys_ in pages for key in keys_ if tenant in tenants.ids_in_key(key)]
    # A comma is the character before the dash: these are the names from the ID and a dash on.
    page = await store.scan(cluster_scoped, after=f"{cluster_scoped}{tenant},{_LAST}", limit=limit)
    return [Key(key) for key in page.keys if tenant in tenants.ids_in_key(key)]
