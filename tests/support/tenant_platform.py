"""What a tenant shares with the platform, as tests of the tenant view need it: the built-in kinds, and what a test names."""

from __future__ import annotations

from collections.abc import Mapping

from probate.api.gvk import GroupKind, GroupResource
from probate.kinds.builtin import catalog


class SamplePlatform:
    """The built-in kinds, shared objects by resource, and the cluster-scoped kinds of the tenant's own CRDs."""

    def __init__(
        self,
        shared_objects: Mapping[GroupResource, frozenset[str]] | None = None,
        own_kinds: Mapping[GroupKind, GroupResource] | None = None,
    ) -> None:
        self._resources = {resource.group_resource for resource in catalog.load()}
        self._kinds = {GroupKind(resource.group, resource.kind) for resource in catalog.load()}
        cluster_scoped = [resource for resource in catalog.load() if not resource.is_namespaced]
        self._cluster_scoped = {GroupKind(resource.group, resource.kind): resource.group_resource for resource in cluster_scoped}
        self._shared_objects = shared_objects or {}
        self._own_kinds = own_kinds or {}

    def is_shared(self, resource: GroupResource) -> bool:
        return resource in self._resources

    def is_shared_group(self, group: str) -> bool:
        return any(resource.group == group for resource in self._resources)

    def is_shared_kind(self, kind: GroupKind) -> bool:
        return kind in self._kinds

    def is_shared_object(self, resource: GroupResource, name: str) -> bool:
        return name in self._shared_objects.get(resource, ())

    def cluster_scoped_resource(self, kind: GroupKind) -> GroupResource | None:
        return self._cluster_scoped.get(kind) or self._own_kinds.get(kind)
