"""The keys under which resources are stored: those of `api.object_keys`, for the resources of the catalog.

A kind served in several groups is stored once: `events.events.k8s.io` are `events`.
"""

from __future__ import annotations

import functools

from probate.api import object_keys, tenants
from probate.api.catalog import Resource
from probate.api.gvk import GroupResource
from probate.api.object_keys import Key

_LAST_NAME = "\U0010ffff"
"""Comes after every name."""
NAMESPACES = GroupResource("", "namespaces")
NAMESPACES_RANGE = object_keys.resource_range(NAMESPACES)
WHOLE_TENANT = "*"
"""Stands for all namespaces of a tenant, and what is in none. No namespace has this name."""
CRDS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


def resource_range(resource: Resource) -> str:
    """Returns the range of all objects of a resource."""
    return _range((resource.storage_gvk or resource).group, resource.plural)


@functools.lru_cache(maxsize=1024)
def _range(group: str, plural: str) -> str:
    return object_keys.resource_range(GroupResource(group, plural))


def namespace_range(resource: Resource, namespace: str | None) -> str:
    """Returns the range of a resource's objects in one namespace; None: in all, empty: cluster-scoped."""
    return resource_range(resource) if namespace is None else f"{resource_range(resource)}{namespace or object_keys.NO_NAMESPACE}/"


def object_key(resource: Resource, namespace: str, name: str) -> Key:
    """Returns the key of an object. `namespace` is empty for a cluster-scoped object."""
    return Key(f"{resource_range(resource)}{namespace or object_keys.NO_NAMESPACE}/{name}")


def seek_name(after: str, name: str) -> str:
    """Returns a key to continue a scan after, given the last key read, that skips only objects without this name.

    Every object of the name after `after` also comes after the returned key: those between the two are in the namespace of `after`
    and either before the object of that name, or behind it.
    """
    namespace, _, _ = after.rpartition("/")
    wanted = f"{namespace}/{name}"
    return max(after, wanted[:-1]) if after < wanted else f"{namespace}/{_LAST_NAME}"


def namespace_key(name: str) -> Key:
    """Returns the key of a Namespace object."""
    return object_keys.object_key(NAMESPACES, "", name)


def quota_key(namespace: str) -> str:
    """Returns the index entry that every write counted by a quota of the namespace rewrites."""
    return f"quota/{namespace}"


def tenant_quota_key(tenant: str) -> str:
    """Returns the index entry that every write counted by the quota of a tenant rewrites."""
    return quota_key(f"{tenants.prefix_of(tenant)}{WHOLE_TENANT}")


def crd_key(resource: Resource) -> Key:
    """Returns the key of the CRD of a custom resource."""
    return object_keys.object_key(CRDS, "", str(resource.group_resource))
