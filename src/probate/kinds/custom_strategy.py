"""Prepares custom resources for a create, an update or a status update.

All custom kinds share these rules; they differ only in whether they have a status subresource.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds import generation
from probate.kinds.shared.object_fields import child, ensure_child, restore_fields


def create_custom(object_: Object, *, has_status: bool) -> None:
    """Prepares a new object: drops its status if the kind has a status subresource, and sets generation 1."""
    if has_status:
        object_.pop("status", None)
    if (metadata := ensure_child(object_, "metadata")) is not None:
        metadata["generation"] = 1


def update_custom(new: Object, old: Object, *, has_status: bool) -> None:
    """Prepares a changed object and increments its generation if anything but the metadata changed.

    If the kind has a status subresource, the status keeps its old value and does not count as a change; otherwise it counts.
    """
    if has_status:
        restore_fields(new, old, "status")
    generation.preserve(new, old)
    metadata = ensure_child(new, "metadata")
    if metadata is not None and _desired_state(new) != _desired_state(old):
        metadata["generation"] = metadata.get("generation", 0) + 1


def update_custom_status(new: Object, old: Object) -> None:
    """Prepares a status update: nothing but the status changes, not even labels."""
    restore_fields(new, old, *((new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}))
    given = child(new, "metadata") or {}
    kept = {key: given[key] for key in ("resourceVersion", "managedFields") if key in given}
    new["metadata"] = {**(child(old, "metadata") or {}), **kept}


def _desired_state(object_: Object) -> Object:
    return {key: value for key, value in object_.items() if key != "metadata"}
