"""The names of PersistentVolumes in other objects.

A volume that a provisioner of the platform created for a tenant has the same name in both views, so a reference to it must not
get the tenant's prefix. Which volume a name refers to is known by looking: `txn_converter` does, and sets the name.
"""

from __future__ import annotations

from typing import Any

import orjson

PATHS = {
    "persistentvolumeclaims": ("spec", "volumeName"),
    "volumeattachments.storage.k8s.io": ("spec", "source", "persistentVolumeName"),
}
"""Where the objects of a resource name a volume."""


def named_in(resource: str, value: bytes) -> str:
    """Returns the name of the volume that a stored object names; empty if it names none."""
    *parents, field = PATHS[resource]
    if f'"{field}"'.encode() not in value:
        return ""
    try:
        found = _below(orjson.loads(value), parents).get(field)
    except orjson.JSONDecodeError:
        return ""
    return found if isinstance(found, str) else ""


def with_name(resource: str, value: bytes, name: str) -> bytes:
    """Returns the stored object with another name of its volume."""
    *parents, field = PATHS[resource]
    object_ = orjson.loads(value)
    _below(object_, parents)[field] = name
    return orjson.dumps(object_)


def _below(object_: Any, path: list[str]) -> dict[str, Any]:
    for field in path:
        object_ = object_.get(field) if isinstance(object_, dict) else None
    return object_ if isinstance(object_, dict) else {}
