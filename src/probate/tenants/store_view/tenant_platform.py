"""Implements `tenants.view.name_converter.Platform` for one tenant: a snapshot of what is shared, and the tenant's own kinds."""

from __future__ import annotations

from probate.api.catalog import Catalog
from probate.api.gvk import GroupKind, GroupResource
from probate.tenants.store_view.platform_snapshot import PlatformSnapshot


class TenantPlatform:
    """What a tenant shares with the platform, and the scope of kinds in the tenant's view. Never changes.

    `catalog` has the kinds that the tenant is served, in the tenant's names.
    """

    def __init__(self, snapshot: PlatformSnapshot, catalog: Catalog) -> None:
        self.snapshot = snapshot
        self.catalog = catalog
        own = [resource for resource in catalog if resource.is_custom and not self.is_shared(resource.group_resource)]
        self._own_scopes = {resource.group_resource: resource.is_namespaced for resource in own}
        self._own_kinds = {
            GroupKind(resource.group, resource.kind): resource.group_resource for resource in own if not resource.is_namespaced
        }

    def is_shared(self, resource: GroupResource) -> bool:
        return resource in self.snapshot.builtin.is_namespaced or resource in self.snapshot.crds

    def is_shared_group(self, group: str) -> bool:
        return group in self.snapshot.groups

    def is_shared_kind(self, kind: GroupKind) -> bool:
        return kind in self.snapshot.kinds

    def is_shared_object(self, resource: GroupResource, name: str) -> bool:
        return self.snapshot.is_shared_object(resource, name)

    def cluster_scoped_resource(self, kind: GroupKind) -> GroupResource | None:
        shared = self.snapshot.kinds.get(kind)
        if shared is None:
            return self._own_kinds.get(kind)
        return None if self.snapshot.is_namespaced(shared) else shared

    def is_namespaced(self, resource: GroupResource) -> bool | None:
        """Returns the scope of a resource in the tenant's view; None if it is not known."""
        shared = self.snapshot.is_namespaced(resource)
        return self._own_scopes.get(resource) if shared is None else shared
