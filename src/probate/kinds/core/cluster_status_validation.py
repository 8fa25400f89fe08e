"""Statuses of Namespaces and Nodes."""

from __future__ import annotations

from typing import Any

from probate.api import metadata
from probate.api.field_errors import Path, duplicate, invalid
from probate.kinds.core.pods.validation.container_resources import check_amount
from probate.kinds.shared.field_checks import Problems, Value, child, each, text, texts

_STATUS = Path("status")
_FINALIZERS = Path("spec") / "finalizers"


def check_namespace_status(new: Value, old: Value) -> Problems:
    """A Namespace is being deleted when it is, and not before. The field is spelt as Kubernetes reports it."""
    phase = text(child(new, "status"), "phase")
    expected = "Terminating" if child(new, "metadata").get("deletionTimestamp") else "Active"
    if phase != expected:
        state = "not empty" if expected == "Terminating" else "empty"
        yield invalid(_STATUS / "Phase", phase, f"may only be '{expected}' if `deletionTimestamp` is {state}")


def check_finalize(new: Value, old: Value) -> Problems:
    """A Namespace sent to its `finalize`."""
    for index, finalizer in enumerate(texts(child(new, "spec"), "finalizers")):
        yield from metadata.check_namespace_finalizer(finalizer, _FINALIZERS / index)


def check_node_status(new: Value, old: Value) -> Problems:
    """What a Node has, and where it is."""
    yield from check_node_resources(new)
    seen: set[Any] = set()
    for address, at in each(child(new, "status"), _STATUS, "addresses"):
        pair = (text(address, "type"), text(address, "address"))
        if pair in seen:
            yield duplicate(at, address)
        seen.add(pair)


def check_node_resources(node: Value) -> Problems:
    """Amounts of what a Node has. Kubernetes reports them like fields, not like keys."""
    for field in ("capacity", "allocatable"):
        for name, amount in child(child(node, "status"), field).items():
            yield from check_amount(name, amount, _STATUS / field / name)
