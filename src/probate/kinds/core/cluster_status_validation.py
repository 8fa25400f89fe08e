"""Validates the status and `finalize` writes of Namespaces, and the status of Nodes."""

from __future__ import annotations

from typing import Any

from probate.api import metadata
from probate.api.field_errors import FieldPath, duplicate, invalid
from probate.kinds.core.pods.validation.container_resources import check_amount
from probate.kinds.shared.field_checks import Problems, Value, child, each, text, texts

_STATUS = FieldPath("status")
_FINALIZERS = FieldPath("spec") / "finalizers"


def check_namespace_status(new: Value, old: Value) -> Problems:
    """Validates that the phase is Terminating if and only if the Namespace is being deleted.

    The field path has Kubernetes' own spelling.
    """
    phase = text(child(new, "status"), "phase")
    expected = "Terminating" if child(new, "metadata").get("deletionTimestamp") else "Active"
    if phase != expected:
        state = "not empty" if expected == "Terminating" else "empty"
        yield invalid(_STATUS / "Phase", phase, f"may only be '{expected}' if `deletionTimestamp` is {state}")


def check_finalize(new: Value, old: Value) -> Problems:
    """Validates a Namespace written through `finalize`."""
    for index, finalizer in enumerate(texts(child(new, "spec"), "finalizers")):
        yield from metadata.validate_namespace_finalizer(finalizer, _FINALIZERS / index)


def check_node_status(new: Value, old: Value) -> Problems:
    """Validates the resources and addresses in a Node's status."""
    yield from check_node_resources(new)
    seen: set[Any] = set()
    for address, at in each(child(new, "status"), _STATUS, "addresses"):
        pair = (text(address, "type"), text(address, "address"))
        if pair in seen:
            yield duplicate(at, address)
        seen.add(pair)


def check_node_resources(node: Value) -> Problems:
    """Validates the amounts of a Node's resources. Kubernetes reports the resource names as fields, not as map keys."""
    for field in ("capacity", "allocatable"):
        for name, amount in child(child(node, "status"), field).items():
            yield from check_amount(name, amount, _STATUS / field / name)
