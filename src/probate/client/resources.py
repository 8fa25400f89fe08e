"""The kinds that more than one room of controllers looks at."""

from __future__ import annotations

from probate.client.objects import Kind, Object

PODS = Kind("", "v1", "pods")
NODES = Kind("", "v1", "nodes")
NAMESPACES = Kind("", "v1", "namespaces")
CLAIMS = Kind("", "v1", "persistentvolumeclaims")
VOLUMES = Kind("", "v1", "persistentvolumes")
CLASSES = Kind("storage.k8s.io", "v1", "storageclasses")
LEASES = Kind("coordination.k8s.io", "v1", "leases")


def is_deleting(object_: Object) -> bool:
    """Whether the object is on its way out."""
    return "deletionTimestamp" in object_["metadata"]


def is_finished(pod: Object) -> bool:
    """Whether all of a pod's containers have ended for good."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def node_of(pod: Object) -> str:
    """The name of the pod's node; empty if it has none yet."""
    name: str = pod["spec"].get("nodeName") or ""
    return name
