"""The keys of objects in the store.

    pods in namespace default          objects/pods/default/<name>
    deployments.apps                   objects/deployments.apps/<namespace>/<name>
    nodes, which are cluster-scoped    objects/nodes/-/<name>

A kind served in several groups is stored once: `events.events.k8s.io` are `events`.
"""

from __future__ import annotations

import functools

from probate.api.catalog import Resource
from probate.api.gvk import GroupResource

NO_NAMESPACE = "-"
_LAST_NAME = "\U0010ffff"
"""Comes after every name."""
NAMESPACES = GroupResource("", "namespaces")
NAMESPACES_RANGE = f"objects/{NAMESPACES}/"
CRDS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


def resource_range(resource: Resource) -> str:
    """Returns the range of all objects of a resource."""
    return _range((resource.storage_gvk or resource).group, resource.plural)


@functools.lru_cache(maxsize=1024)
def _range(group: str, plural: str) -> str:
    return f"objects/{GroupResource(group, plural)}/"


def namespace_range(resource: Resource, namespace: str | None) -> str:
    """Returns the range of a resource's objects in one namespace; None: in all, empty: cluster-scoped."""
    return resource_range(resource) if namespace is None else f"{resource_range(resource)}{namespace or NO_NAMESPACE}/"


def object_key(resource: Resource, namespace: str, name: str) -> str:
    """Returns the key of an object. `namespace` is empty for a cluster-scoped object."""
    return f"{resource_range(resource)}{namespace or NO_NAMESPACE}/{name}"


def seek_name(after: str, name: str) -> str:
    """Returns a key to continue a scan after, given the last key read, that skips only objects without this name.

    Every object of the name after `after` also comes after the returned key: those between the two are in the namespace of `after`
    and either before the object of that name, or behind it.
    """
    namespace, _, _ = after.rpartition("/")
    wanted = f"{namespace}/{name}"
    return max(after, wanted[:-1]) if after < wanted else f"{namespace}/{_LAST_NAME}"


def namespace_key(name: str) -> str:
    """Returns the key of a Namespace object."""
    return f"objects/{NAMESPACES}/{NO_NAMESPACE}/{name}"


def quota_key(namespace: str) -> str:
    """Returns the index entry that every write counted by a quota of the namespace rewrites."""
    return f"quota/{namespace}"


def crd_key(resource: Resource) -> str:
    """Returns the key of the CRD of a custom resource."""
    return f"objects/{CRDS}/{NO_NAMESPACE}/{resource.group_resource}"
