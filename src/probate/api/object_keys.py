"""The key of an object, which identifies it in the store and in the collector.

    objects/<resource>/<namespace>/<name>

    a pod in namespace default         objects/pods/default/web-1
    a Deployment                       objects/deployments.apps/default/web
    a Node, which is cluster-scoped    objects/nodes/-/node-1

The resource is the plural and, after a dot, the group. The key names no version: an object has one key, whichever version a request
names. This is the only module that builds keys and takes them apart. (Fast path: code that handles thousands of keys at once may
cut a key that it has just built.)
"""

from __future__ import annotations

from typing import NamedTuple, NewType

from probate.api.gvk import GroupResource

OBJECTS = "objects/"
NO_NAMESPACE = "-"

Key = NewType("Key", str)
"""The key of an object."""

NO_KEY = Key("")


class ObjectKey(NamedTuple):
    """The parts of a key. The namespace of a cluster-scoped object is empty."""

    resource: str
    namespace: str
    name: str

    @property
    def group_resource(self) -> GroupResource:
        return parse_resource(self.resource)


def parse(key: str) -> ObjectKey:
    """Takes a key apart. Raises `ValueError` if it is not the key of an object."""
    family, resource, namespace, name = key.split("/")
    if f"{family}/" != OBJECTS:
        raise ValueError(f"{key!r} is not the key of an object")
    return ObjectKey(resource, "" if namespace == NO_NAMESPACE else namespace, name)


def parse_resource(resource: str) -> GroupResource:
    """Takes the resource in a key apart: `deployments.apps`."""
    plural, _, group = resource.partition(".")
    return GroupResource(group, plural)


def resource_in(key: str) -> str:
    """Returns the resource in a key, or in a range of keys that includes the resource."""
    return key.split("/", 2)[1]


def name_in(key: str) -> str:
    """Returns the name in a key."""
    return key[key.rindex("/") + 1 :]


def object_key(resource: GroupResource | str, namespace: str, name: str) -> Key:
    """Builds a key. The namespace of a cluster-scoped object is empty."""
    return Key(f"{OBJECTS}{resource}/{namespace or NO_NAMESPACE}/{name}")


def resource_range(resource: GroupResource | str) -> str:
    """Returns the range of the keys of all objects of a resource."""
    return f"{OBJECTS}{resource}/"


def namespace_range(resource: GroupResource | str, namespace: str) -> str:
    """Returns the range of the keys of a resource's objects in a namespace; an empty namespace means cluster-scoped ones."""
    return f"{OBJECTS}{resource}/{namespace or NO_NAMESPACE}/"
