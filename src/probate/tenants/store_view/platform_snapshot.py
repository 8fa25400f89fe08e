"""What tenants share with the platform, at one moment: the built-in kinds, and the shared CRDs and objects. Never changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from probate.api.catalog import Catalog
from probate.api.gvk import GroupKind, GroupResource, GroupVersion
from probate.store.contract import NO_REVISION, Record, Revision
from probate.tenants import tenant_catalog
from probate.tenants.store_view.shared_objects import FOLLOWED, NODES, PRIORITY_CLASSES, SYSTEM_PRIORITY_CLASSES
from probate.tenants.view.object_conversion import API_SERVICES, CRDS


class SharedKind(NamedTuple):
    """A kind that a shared CRD defines."""

    kind: GroupKind
    is_namespaced: bool
    versions: frozenset[str]


class _Names(msgspec.Struct):
    plural: str
    kind: str


class _Version(msgspec.Struct):
    name: str
    served: bool = False


class _Spec(msgspec.Struct):
    group: str
    names: _Names
    scope: str
    versions: list[_Version] = []


class _Crd(msgspec.Struct):
    spec: _Spec


class SharedRecords(NamedTuple):
    """The shared objects of one resource by name, and the revision since which they are the same."""

    by_name: Mapping[str, Record] = {}
    since: Revision = NO_REVISION


class BuiltinKinds:
    """What the catalog of built-in kinds says about names and scopes."""

    def __init__(self, catalog: Catalog) -> None:
        self.is_namespaced = {resource.group_resource: resource.is_namespaced for resource in catalog}
        self.kinds = {GroupKind(resource.group, resource.kind): resource.group_resource for resource in catalog}
        self.groups = {resource.group for resource in catalog}
        self.served_versions = {resource.group_version for resource in tenant_catalog.tenant_catalog(catalog)}


class PlatformSnapshot:
    """The shared objects by resource, and the kinds that shared CRDs define.

    The APIServices are all of the platform: which are shared depends on the CRDs.
    """

    def __init__(
        self,
        builtin: BuiltinKinds,
        objects: Mapping[GroupResource, SharedRecords],
        crds: Mapping[GroupResource, SharedKind] | None = None,
    ) -> None:
        self.builtin = builtin
        self.objects = objects
        self.crds = kinds_of(objects[CRDS]) if crds is None else crds

    def with_changes(self, changes: Mapping[GroupResource, SharedRecords]) -> PlatformSnapshot:
        """Returns the snapshot in which the objects of these resources are others."""
        return PlatformSnapshot(self.builtin, {**self.objects, **changes}, None if CRDS in changes else self.crds)

    @cached_property
    def groups(self) -> frozenset[str]:
        """All groups with shared resources."""
        return frozenset({*self.builtin.groups, *(resource.group for resource in self.crds)})

    @cached_property
    def kinds(self) -> Mapping[GroupKind, GroupResource]:
        """All shared kinds and their resources."""
        return {**{shared.kind: resource for resource, shared in self.crds.items()}, **self.builtin.kinds}

    @cached_property
    def _api_services(self) -> SharedRecords:
        records = self.objects[API_SERVICES]
        shown = {name: record for name, record in records.by_name.items() if self.is_shared_api_service(name)}
        return SharedRecords(shown, max(records.since, self.objects[CRDS].since))

    def records(self, resource: GroupResource) -> SharedRecords:
        """Returns the shared objects of a class, of CRDs, or of APIServices."""
        return self._api_services if resource == API_SERVICES else self.objects[resource]

    def is_shared_api_service(self, name: str) -> bool:
        """Whether an APIService of the platform is of a group and version that tenants have in common."""
        version, _, group = name.partition(".")
        group_version = GroupVersion(group, version)
        return group_version in self.builtin.served_versions or any(
            resource.group == group and version in shared.versions for resource, shared in self.crds.items()
        )

    def is_shared_object(self, resource: GroupResource, name: str) -> bool:
        """Whether tenants see this cluster-scoped object of the platform."""
        if resource == NODES or (resource == PRIORITY_CLASSES and name in SYSTEM_PRIORITY_CLASSES):
            return True
        return resource in self.objects and name in self.records(resource).by_name

    def is_namespaced(self, resource: GroupResource) -> bool | None:
        """Returns the scope of a shared resource; None if it is not shared."""
        found = self.builtin.is_namespaced.get(resource)
        return found if found is not None or resource not in self.crds else self.crds[resource].is_namespaced


def kinds_of(crds: SharedRecords) -> Mapping[GroupResource, SharedKind]:
    """Returns the kinds that shared CRDs define, by resource."""
    return dict(kind for record in crds.by_name.values() if (kind := _kind_of(record)) is not None)


def _kind_of(record: Record) -> tuple[GroupResource, SharedKind] | None:
    try:
        spec = msgspec.json.decode(record.value, type=_Crd).spec
    except msgspec.DecodeError:  # it is not served either
        return None
    versions = frozenset(version.name for version in spec.versions if version.served)
    kind = SharedKind(GroupKind(spec.group, spec.names.kind), spec.scope == "Namespaced", versions)
    return GroupResource(spec.group, spec.names.plural), kind


def empty_snapshot(builtin: BuiltinKinds) -> PlatformSnapshot:
    """Returns a snapshot without shared objects."""
    return PlatformSnapshot(builtin, dict.fromkeys(FOLLOWED, SharedRecords()))
