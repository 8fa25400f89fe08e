"""Custom resources: the same for all of them, except for whether their status has a path of its own."""

from __future__ import annotations

from probate.kinds.shared import generation
from probate.kinds.shared.object_fields import Object, child, made
from probate.kinds.shared.object_strategies import keep


def create_custom(object_: Object, *, has_status: bool) -> None:
    """Prepare a new object."""
    if has_status:
        object_.pop("status", None)
    if (metadata := made(object_, "metadata")) is not None:
        metadata["generation"] = 1


def update_custom(new: Object, old: Object, *, has_status: bool) -> None:
    """Prepare a changed object. Everything but metadata is what is wanted, and so is status if it has no path of its own."""
    if has_status:
        keep(new, old, "status")
    generation.carry(new, old)
    metadata = made(new, "metadata")
    if metadata is not None and _wanted(new) != _wanted(old):
        metadata["generation"] = metadata.get("generation", 0) + 1


def update_custom_status(new: Object, old: Object) -> None:
    """Prepare a change through `status`: nothing else changes, not even labels."""
    keep(new, old, *((new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}))
    given = child(new, "metadata") or {}
    kept = {key: given[key] for key in ("resourceVersion", "managedFields") if key in given}
    new["metadata"] = {**(child(old, "metadata") or {}), **kept}


def _wanted(object_: Object) -> Object:
    return {key: value for key, value in object_.items() if key != "metadata"}
