"""How names differ between a tenant's view and the physical view.

A tenant's id and a dash come before the names of its namespaces, its cluster-scoped objects, and the API groups of its
CustomResourceDefinitions. For tenant 111111:

    what                      tenant's view         physical view
    a namespace               web                   111111-web
    a cluster-scoped object   PersistentVolume x    PersistentVolume 111111-x
    an API group              a.com                 111111-a.com
    a user                    admin                 111111-admin
    a service account         web/builder           111111-web/builder

Built-in API groups keep their names, and so do the objects and groups of the platform that tenants may use (`Platform`): a
StorageClass `standard` that is shared is `standard` in both views.

`ToPhysical` adds the prefix, `ToTenant` removes it once. Both are pure and total. `ToTenant` undoes `ToPhysical` for every name,
because no name that the platform shares begins with the id of a tenant.
"""

from __future__ import annotations

from typing import Protocol

from probate.api.gvk import GroupKind, GroupResource, GroupVersion
from probate.api.tenants import ID_LENGTH

SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNTS_PREFIX = "system:serviceaccounts:"


class Platform(Protocol):
    """What tenants share with the platform, and the scope of kinds. Pure: the answers of one instance never change."""

    def is_shared(self, resource: GroupResource) -> bool:
        """Whether the resource is built in, or defined by a CRD that the platform shares with tenants."""
        ...

    def is_shared_group(self, group: str) -> bool:
        """Whether the API group has shared resources, so that it has the same name in both views."""
        ...

    def is_shared_kind(self, kind: GroupKind) -> bool:
        """Whether the kind is that of a shared resource."""
        ...

    def is_shared_object(self, resource: GroupResource, name: str) -> bool:
        """Whether tenants see this cluster-scoped object of the platform, under the same name."""
        ...

    def cluster_scoped_resource(self, kind: GroupKind) -> GroupResource | None:
        """Returns the resource of a kind in the tenant's view; None if it is namespaced or not known."""
        ...


class NameConverter:
    """Renames in one direction. `prefix` and `platform` are those of one tenant."""

    def __init__(self, prefix: str, platform: Platform) -> None:
        self.prefix = prefix
        self.platform = platform

    def rename(self, name: str) -> str:
        """Renames what always has the prefix in the physical view."""
        raise NotImplementedError

    def mark_labels(self, labels: dict[str, str], label: str) -> None:
        """Sets the label that names the tenant, or removes it, in place."""
        raise NotImplementedError

    def namespace(self, name: str) -> str:
        """Renames a namespace; an empty name stays empty."""
        return self.rename(name) if name else name

    def cluster_scoped(self, resource: GroupResource, name: str) -> str:
        """Renames a cluster-scoped object of a resource; an empty name stays empty."""
        return name if not name or self.platform.is_shared_object(resource, name) else self.rename(name)

    def group(self, group: str) -> str:
        """Renames an API group. `*` and built-in groups keep their names."""
        return group if group == "*" or self.platform.is_shared_group(group) else self.rename(group)

    def resource(self, resource: GroupResource) -> GroupResource:
        """Renames a resource: the group of a resource that only the tenant has."""
        return resource if self.platform.is_shared(resource) else GroupResource(self.rename(resource.group), resource.resource)

    def kind(self, kind: GroupKind) -> GroupKind:
        """Renames a kind: the group of a kind that only the tenant has."""
        return kind if not kind.group or self.platform.is_shared_kind(kind) else GroupKind(self.rename(kind.group), kind.kind)

    def object_name(self, kind: GroupKind, name: str) -> str:
        """Renames the object of a kind: not at all if the kind is namespaced or not known."""
        resource = self.platform.cluster_scoped_resource(self.tenant_kind(kind))
        return name if resource is None else self.cluster_scoped(resource, name)

    def tenant_kind(self, kind: GroupKind) -> GroupKind:
        """Returns a kind of the view from which this renames, as the tenant names it."""
        raise NotImplementedError

    def tenant_resource(self, resource: GroupResource) -> GroupResource:
        """Returns a resource of the view from which this renames, as the tenant names it."""
        raise NotImplementedError

    def api_version(self, api_version: str, kind: str) -> str:
        """Renames the `apiVersion` of a kind."""
        group, version = GroupVersion.parse(api_version)
        return str(GroupVersion(self.kind(GroupKind(group, kind)).group, version))

    def user(self, name: str) -> str:
        """Renames a user. A service account's name contains its namespace."""
        if name.startswith(SERVICE_ACCOUNT_PREFIX):
            return SERVICE_ACCOUNT_PREFIX + self.namespace(name.removeprefix(SERVICE_ACCOUNT_PREFIX))
        return self.rename(name) if name else name

    def user_group(self, name: str) -> str:
        """Renames a group of users: only those of service accounts contain a namespace."""
        if name.startswith(SERVICE_ACCOUNTS_PREFIX):
            return SERVICE_ACCOUNTS_PREFIX + self.namespace(name.removeprefix(SERVICE_ACCOUNTS_PREFIX))
        return name


class ToPhysical(NameConverter):
    """From the tenant's view to the physical view."""

    def rename(self, name: str) -> str:
        return self.prefix + name

    def mark_labels(self, labels: dict[str, str], label: str) -> None:
        labels[label] = self.prefix[:ID_LENGTH]

    def tenant_kind(self, kind: GroupKind) -> GroupKind:
        return kind

    def tenant_resource(self, resource: GroupResource) -> GroupResource:
        return resource


class ToTenant(NameConverter):
    """From the physical view to the tenant's view. What lacks the prefix keeps its name."""

    def rename(self, name: str) -> str:
        return name.removeprefix(self.prefix)

    def mark_labels(self, labels: dict[str, str], label: str) -> None:
        labels.pop(label, None)

    def tenant_kind(self, kind: GroupKind) -> GroupKind:
        return self.kind(kind)

    def tenant_resource(self, resource: GroupResource) -> GroupResource:
        return self.resource(resource)
