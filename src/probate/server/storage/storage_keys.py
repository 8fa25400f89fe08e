"""Where objects lie in the store.

    pods in namespace default          objects/pods/default/<name>
    deployments.apps                   objects/deployments.apps/<namespace>/<name>
    nodes, which have no namespace     objects/nodes/-/<name>

A kind served in several groups is stored once: `events.events.k8s.io` are `events`.
"""

from __future__ import annotations

import functools

from probate.api.catalog import Resource
from probate.api.gvk import GroupResource

NO_NAMESPACE = "-"
NAMESPACES = GroupResource("", "namespaces")
ALL_NAMESPACES = f"objects/{NAMESPACES}/"
DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


def everywhere(resource: Resource) -> str:
    """The range of all objects of a resource."""
    return _range((resource.stored_as or resource).group, resource.plural)


@functools.lru_cache(maxsize=1024)
def _range(group: str, plural: str) -> str:
    return f"objects/{GroupResource(group, plural)}/"


def within(resource: Resource, namespace: str | None) -> str:
    """The range of a resource's objects in one namespace, or of all (None)."""
    return everywhere(resource) if namespace is None else f"{everywhere(resource)}{namespace or NO_NAMESPACE}/"


def of(resource: Resource, namespace: str, name: str) -> str:
    """One object."""
    return f"{everywhere(resource)}{namespace or NO_NAMESPACE}/{name}"


def of_namespace(name: str) -> str:
    """The object of a namespace itself."""
    return f"objects/{NAMESPACES}/{NO_NAMESPACE}/{name}"


def of_quotas(namespace: str) -> str:
    """The index entry that is renewed by each write that a quota of the namespace counts."""
    return f"quota/{namespace}"


def of_definition(resource: Resource) -> str:
    """The object that defines a custom kind."""
    return f"objects/{DEFINITIONS}/{NO_NAMESPACE}/{resource.group_resource}"
