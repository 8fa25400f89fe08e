"""Sets the defaults of small kinds of the core group: Secret, Namespace, Node, LimitRange, ResourceQuota."""

from __future__ import annotations

import base64

from probate.api.objects import Object
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import child, drop_empty, ensure_child, fill, fill_zero, items, text

NAME_LABEL = "kubernetes.io/metadata.name"
_LIMITS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_secret(secret: Object) -> None:
    """Sets the defaults of a Secret. Moves `stringData` into `data` in base64, where it overrides existing keys."""
    fill_zero(secret, type="Opaque")
    texts = secret.pop("stringData", None)
    if not isinstance(texts, dict) or not texts:
        return
    if (data := ensure_child(secret, "data")) is not None:
        data |= {key: base64.b64encode(value.encode()).decode() for key, value in texts.items() if isinstance(value, str)}


def default_namespace(namespace: Object) -> None:
    """Sets the defaults of a Namespace. Adds its name as a label, so that selectors can select it by name."""
    metadata = ensure_child(namespace, "metadata")
    if metadata is not None and (name := text(metadata, "name")) and (labels := ensure_child(metadata, "labels")) is not None:
        labels[NAME_LABEL] = name
    if (status := ensure_child(namespace, "status")) is not None:
        fill_zero(status, phase="Active")


def default_node(node: Object) -> None:
    """Sets the defaults of a Node: `allocatable` defaults to `capacity`, and `podCIDR` and `podCIDRs` match, for old clients."""
    if (spec := ensure_child(node, "spec")) is not None:
        _align_pod_cidrs(spec)
    if (status := ensure_child(node, "status")) is not None:
        quantity_defaults.normalize_lists(status, "capacity", "allocatable")
        if capacity := child(status, "capacity"):
            fill(status, allocatable=dict(capacity))


def default_limit_range(limit_range: Object) -> None:
    """Sets the defaults of a LimitRange: a container's default limit is its maximum, its default request is its default limit."""
    for item in items(child(limit_range, "spec"), "limits"):
        quantity_defaults.normalize_lists(item, *_LIMITS)
        if item.get("type") == "Container":
            _default_container_limits(item)


def default_resource_quota(quota: Object) -> None:
    """Writes the amounts of a ResourceQuota in canonical form."""
    quantity_defaults.normalize_lists(child(quota, "spec"), "hard")
    quantity_defaults.normalize_lists(child(quota, "status"), "hard", "used")


def _default_container_limits(item: Object) -> None:
    for source, target in (("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")):
        if (wanted := ensure_child(item, target)) is not None:
            item[target] = {**(child(item, source) or {}), **wanted}
    drop_empty(item, "default", "defaultRequest")


def _align_pod_cidrs(spec: Object) -> None:
    """Makes `podCIDR` the first of `podCIDRs`.

    If they differ, the client that wrote the object does not know `podCIDRs`, so `podCIDR` counts.
    """
    ranges, given = spec.get("podCIDRs"), text(spec, "podCIDR")
    first = ranges[0] if isinstance(ranges, list) and ranges else None
    if given and given != first:
        spec["podCIDRs"] = [given]
    elif first is not None:
        fill_zero(spec, podCIDR=first)
