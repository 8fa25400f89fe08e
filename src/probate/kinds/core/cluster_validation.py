"""Validates Namespaces, Nodes and Leases."""

from __future__ import annotations

from typing import Any

from probate.api import metadata, names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid
from probate.kinds.core.cluster_status_validation import check_node_resources
from probate.kinds.core.pods.validation.placement import EFFECTS
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_nonnegative,
    check_rule,
    child,
    each,
    is_same,
    text,
    texts,
)
from probate.kinds.shared.ip_addresses import check_new_cidr
from probate.kinds.shared.reachable_addresses import check_families

_SPEC = FieldPath("spec")


def check_namespace(namespace: Value) -> Problems:
    """Validates a Namespace, whose finalizers are part of its spec."""
    for finalizer in texts(child(namespace, "spec"), "finalizers"):
        yield from metadata.validate_namespace_finalizer(finalizer, _SPEC / "finalizers")


def check_node(node: Value) -> Problems:
    """Validates a new Node. Problems of its taints are reported with a path below `metadata`, as in Kubernetes."""
    yield from check_known_node(node)
    yield from check_node_resources(node)


def check_known_node(node: Value) -> Problems:
    """Validates a Node, new or changed. Its resources are validated with its status."""
    spec = child(node, "spec")
    seen: set[Any] = set()
    for taint, at in each(spec, FieldPath("metadata"), "taints"):
        yield from check_rule(text(taint, "key"), at / "key", names.validate_qualified_name)
        yield from check_rule(text(taint, "value"), at / "value", names.validate_label_value)
        yield from check_choice(taint, at, "effect", supported=EFFECTS, is_required=True)
        if (text(taint, "key"), text(taint, "effect")) in seen:
            yield duplicate(at, taint)
        seen.add((text(taint, "key"), text(taint, "effect")))
    for index, cidr in enumerate(texts(spec, "podCIDRs")):
        yield from check_new_cidr(cidr, _SPEC / "podCIDRs" / index)
    yield from check_families(texts(spec, "podCIDRs"), _SPEC / "podCIDRs")


def check_lease(lease: Value) -> Problems:
    """Validates a Lease."""
    spec = child(lease, "spec")
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid(_SPEC / "leaseDurationSeconds", seconds, "must be greater than 0")
    yield from check_nonnegative(spec, _SPEC, "leaseTransitions")


def update_node(new: Value, old: Value) -> Problems:
    """Validates that a Node keeps its provider ID and pod CIDRs once they are set."""
    spec, before = child(new, "spec"), child(old, "spec")
    for field in ("providerID", "podCIDRs"):
        if before.get(field) and not is_same(spec.get(field), before[field]):
            yield forbidden(_SPEC / field, f'node updates may not change {field.removesuffix("s")} except from "" to valid')
    if text(spec, "externalID") != text(before, "externalID"):
        yield forbidden(_SPEC / "externalID", "may not be updated")
    source = spec.get("configSource")
    if source is not None and source.get("configMap") is None:
        yield invalid(_SPEC / "configSource", source, "exactly one reference subfield must be non-nil")
