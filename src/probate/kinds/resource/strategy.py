"""Prepares kinds of resource.k8s.io for a create."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, fill, items


def create_resource_slice(resource_slice: Object, *, now: str) -> None:
    """Prepares a new ResourceSlice: sets the time of device taints that have none."""
    for device in items(child(resource_slice, "spec"), "devices"):
        for taint in items(device, "taints"):
            fill(taint, timeAdded=now)
