"""Says for each range of a tenant's keys what it is in the physical store."""

from __future__ import annotations

from probate.api import object_keys
from probate.api.gvk import GroupResource
from probate.store import keys
from probate.store.contract import Store
from probate.tenants.store_view import shared_objects
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.ranges.all_objects import AllObjectsRange
from probate.tenants.store_view.ranges.entry_range import EntryRange
from probate.tenants.store_view.ranges.platform_named import ListedRange, SharedRange
from probate.tenants.store_view.ranges.tenant_range import FilteredRange, MergedRange, PlainRange, TenantRange
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.store_view.shared_objects import NODES, VOLUMES
from probate.tenants.view import key_conversion
from probate.tenants.view.object_conversion import NAMED_BY_GROUP

_RESOURCE_LEVEL, _NAMESPACE_LEVEL = 3, 4
"""How many parts `objects/pods/` and `objects/pods/web/` have, with the empty one at the end."""


class RangeFactory:
    """Builds the ranges of one tenant."""

    def __init__(self, store: Store, converter: RecordConverter, platform: PlatformObjects) -> None:
        self._store = store
        self._converter = converter
        self._platform = platform

    def range_of(self, prefix: str) -> TenantRange:
        """Returns the range of all keys of the tenant that begin with `prefix`, which ends in `/`."""
        if not keys.is_object(prefix):
            return self._entries(prefix)
        parts = prefix.split("/")
        if len(parts) < _RESOURCE_LEVEL:
            return AllObjectsRange(self._store, self._converter, self.range_of)
        is_cluster_scoped = len(parts) > _RESOURCE_LEVEL and parts[2] == object_keys.NO_NAMESPACE
        if len(parts) == _RESOURCE_LEVEL or (len(parts) == _NAMESPACE_LEVEL and is_cluster_scoped):
            return self._resource(prefix, object_keys.parse_resource(parts[1]), is_cluster_scoped=is_cluster_scoped)
        return PlainRange(self._store, prefix, self._converter.physical_key(prefix))

    def _resource(self, prefix: str, resource: GroupResource, *, is_cluster_scoped: bool) -> TenantRange:
        """Returns the range of all objects of a resource, or of the cluster-scoped ones."""
        if resource == NODES:
            return PlainRange(self._store, prefix, prefix)
        if shared_objects.is_platform_named(prefix):
            return self._platform_named(prefix, resource)
        is_namespaced = False if is_cluster_scoped else self._converter.platform.is_namespaced(resource)
        if is_namespaced is None:
            return self._filtered(prefix)
        return self._prefixed(resource, is_namespaced=is_namespaced)

    def _prefixed(self, resource: GroupResource, *, is_namespaced: bool) -> PlainRange:
        """Returns the range of the objects whose namespace or name begins with the tenant's prefix."""
        seen = object_keys.resource_range(resource) if is_namespaced else object_keys.namespace_range(resource, "")
        return PlainRange(self._store, seen, self._converter.physical_key(seen) + self._converter.out.prefix)

    def _platform_named(self, prefix: str, resource: GroupResource) -> TenantRange:
        is_listed = resource == VOLUMES or resource in NAMED_BY_GROUP
        own = ListedRange(self._store, self._converter, resource) if is_listed else self._prefixed(resource, is_namespaced=False)
        if resource == VOLUMES:
            return MergedRange(self._store, prefix, [own])
        shared = SharedRange(self._store, self._converter, resource, platform=self._platform)
        return MergedRange(self._store, prefix, [own, shared])

    def _filtered(self, prefix: str) -> FilteredRange:
        return FilteredRange(
            self._store,
            self._converter.physical_key(prefix),
            prefix=prefix,
            show=self._converter.own_key,
            convert=self._converter.physical_key,
        )

    def _entries(self, prefix: str) -> TenantRange:
        """Returns a range of index entries."""
        family, _, about = prefix.partition("/")
        if family in key_conversion.UNCHANGED:
            return PlainRange(self._store, prefix, prefix)
        if family in key_conversion.HOLDING_OBJECT_KEYS:
            return EntryRange(self._store, prefix, self._converter)
        if not about:
            return self._filtered(prefix)
        return PlainRange(self._store, prefix, self._converter.physical_key(prefix))
