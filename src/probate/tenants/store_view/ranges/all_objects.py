"""The range `objects/` of a tenant: its resources, in the order of the tenant's names, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from probate.api import object_keys, tenants
from probate.store import keys
from probate.store.contract import Revision, Store
from probate.tenants.store_view.ranges.tenant_range import MAX_COUNTED, Found, Slice, TenantRange
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.store_view.shared_objects import FOLLOWED, NODES, VOLUMES
from probate.tenants.view import key_conversion
from probate.tenants.view.object_conversion import CRDS

MakeRange = Callable[[str], TenantRange]


class AllObjectsRange(TenantRange):
    """All objects of a tenant. Which resources it has is known from the index of what it has."""

    physical = object_keys.OBJECTS

    def __init__(self, store: Store, converter: RecordConverter, make_range: MakeRange) -> None:
        self._store = store
        self._converter = converter
        self._make_range = make_range

    async def slice_(self, after: str, limit: int, at: Revision | None) -> Slice:
        for resource in (*FOLLOWED, VOLUMES):
            self._store.unchanged_since(object_keys.namespace_range(resource, ""))  # so that it is known at the revision read next
        revision = await self._store.revision() if at is None else at
        found: list[Found] = []
        for prefix in sorted(await self._possible_ranges(at)):
            if len(found) <= limit and keys.range_end(prefix) > after:
                part = await self._make_range(prefix).slice_(after, limit + 1 - len(found), revision)
                found += part.found
        return Slice(found[:limit], revision, len(found) > limit)

    async def child_prefixes(self, prefix: str) -> list[str]:
        """Returns the ranges of the resources of which the tenant sees objects. `prefix` is `objects/`."""
        own = await self._own_ranges()
        shared = [object_keys.resource_range(resource) for resource in (*FOLLOWED, NODES)]
        revision = await self._store.revision()
        for range_ in shared:
            if range_ not in own and (await self._make_range(range_).slice_("", 1, revision)).found:
                own.add(range_)
        return sorted(own)

    async def _possible_ranges(self, at: Revision | None) -> set[str]:
        """Returns the ranges that may contain objects now, or that may have contained some at a revision."""
        ranges = {*map(object_keys.resource_range, (*FOLLOWED, NODES)), *await self._own_ranges()}
        if at is None:
            return ranges
        platform = self._converter.platform
        resources = {*platform.snapshot.builtin.is_namespaced, *platform.snapshot.crds}
        resources |= {resource.group_resource for resource in platform.catalog}
        return {*ranges, *map(object_keys.resource_range, resources), *await self._defined_ranges(at)}

    async def _defined_ranges(self, at: Revision) -> set[str]:
        """Returns the ranges of the resources that CRDs defined at a revision."""
        crds, after, ranges = self._make_range(object_keys.resource_range(CRDS)), "", set[str]()
        while True:
            page = await crds.slice_(after, MAX_COUNTED, at)
            ranges |= {object_keys.resource_range(object_keys.name_in(one.key)) for one in page.found}
            if not page.has_more:
                return ranges
            after = page.found[-1].key

    async def _own_ranges(self) -> set[str]:
        index = tenants.content_range(self._converter.tenant)
        children = await self._store.child_prefixes(index + object_keys.OBJECTS)
        physical = (object_keys.parse_resource(object_keys.resource_in(child.removeprefix(index))) for child in children)
        own = (key_conversion.own_resource(self._converter.back, resource) for resource in physical)
        return {object_keys.resource_range(resource) for resource in own if resource is not None}
