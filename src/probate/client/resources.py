"""The resources that several groups of controllers use, and what they read of Nodes and Pods."""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource

PODS = GroupVersionResource("", "v1", "pods")
NODES = GroupVersionResource("", "v1", "nodes")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
PERSISTENT_VOLUME_CLAIMS = GroupVersionResource("", "v1", "persistentvolumeclaims")
PERSISTENT_VOLUMES = GroupVersionResource("", "v1", "persistentvolumes")
STORAGE_CLASSES = GroupVersionResource("storage.k8s.io", "v1", "storageclasses")
LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")


def is_deleting(object_: Object) -> bool:
    """Whether the object has a deletionTimestamp."""
    return "deletionTimestamp" in object_["metadata"]


def is_pod_finished(pod: Object) -> bool:
    """Whether the pod's phase is Succeeded or Failed: all of its containers have terminated for good."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def node_name_of(pod: Object) -> str:
    """Returns the name of the pod's node; empty if the pod is not scheduled."""
    name: str = pod["spec"].get("nodeName") or ""
    return name
