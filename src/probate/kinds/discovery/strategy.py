"""Prepares an EndpointSlice for a create or an update."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import items


def create_endpoint_slice(endpoint_slice: Object) -> None:
    """Prepares a new EndpointSlice: drops the deprecated topology labels.

    They are read-only in v1; `nodeName` and `zone` replace them.
    """
    for endpoint in items(endpoint_slice, "endpoints"):
        endpoint.pop("deprecatedTopology", None)


def update_endpoint_slice(new: Object, old: Object) -> None:
    """Prepares a changed EndpointSlice: it keeps those labels if its endpoints do not change."""
    if new.get("endpoints") != old.get("endpoints"):
        create_endpoint_slice(new)
