"""The small kinds of the core group: secrets, namespaces, nodes, limits, quotas."""

from __future__ import annotations

import base64

from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import Object, child, drop_empty, fill, fill_zero, items, made, text

NAME_LABEL = "kubernetes.io/metadata.name"
_LIMITS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_secret(secret: Object) -> None:
    """Fill a Secret. What was given as text goes to the rest of the data, over it, in base64."""
    fill_zero(secret, type="Opaque")
    texts = secret.pop("stringData", None)
    if not isinstance(texts, dict) or not texts:
        return
    if (data := made(secret, "data")) is not None:
        data |= {key: base64.b64encode(value.encode()).decode() for key, value in texts.items() if isinstance(value, str)}


def default_namespace(namespace: Object) -> None:
    """Fill a Namespace. Its name is one of its labels, so that selectors can name it."""
    metadata = made(namespace, "metadata")
    if metadata is not None and (name := text(metadata, "name")) and (labels := made(metadata, "labels")) is not None:
        labels[NAME_LABEL] = name
    if (status := made(namespace, "status")) is not None:
        fill_zero(status, phase="Active")


def default_node(node: Object) -> None:
    """Fill a Node: what it has can be used, and its first address range is also its only one, for old clients."""
    if (spec := made(node, "spec")) is not None:
        _settle_ranges(spec)
    if (status := made(node, "status")) is not None:
        quantity_defaults.settle_lists(status, "capacity", "allocatable")
        if capacity := child(status, "capacity"):
            fill(status, allocatable=dict(capacity))


def default_limit_range(limit_range: Object) -> None:
    """Fill a LimitRange: containers get their most as default, and their default as what they ask for."""
    for item in items(child(limit_range, "spec"), "limits"):
        quantity_defaults.settle_lists(item, *_LIMITS)
        if item.get("type") == "Container":
            _default_container_limits(item)


def default_resource_quota(quota: Object) -> None:
    """Write a ResourceQuota's amounts as all amounts are written."""
    quantity_defaults.settle_lists(child(quota, "spec"), "hard")
    quantity_defaults.settle_lists(child(quota, "status"), "hard", "used")


def _default_container_limits(item: Object) -> None:
    for source, target in (("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")):
        if (wanted := made(item, target)) is not None:
            item[target] = {**(child(item, source) or {}), **wanted}
    drop_empty(item, "default", "defaultRequest")


def _settle_ranges(spec: Object) -> None:
    """The range is the first of the ranges. Where they differ it was written by a client that knows of no others: it counts."""
    ranges, given = spec.get("podCIDRs"), text(spec, "podCIDR")
    first = ranges[0] if isinstance(ranges, list) and ranges else None
    if given and given != first:
        spec["podCIDRs"] = [given]
    elif first is not None:
        fill_zero(spec, podCIDR=first)
