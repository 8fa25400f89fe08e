"""Prepares a HorizontalPodAutoscaler for a create or an update."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.autoscaling.conversion import without_annotations
from probate.kinds.shared.object_fields import child


def create_autoscaler(autoscaler: Object) -> None:
    """Prepares a new HorizontalPodAutoscaler: drops the annotations in which autoscaling/v1 keeps what v2 has in fields."""
    if (metadata := child(autoscaler, "metadata")) is not None:
        autoscaler["metadata"] = without_annotations(metadata)


def update_autoscaler(new: Object, old: Object) -> None:
    """Prepares a changed HorizontalPodAutoscaler in the same way."""
    create_autoscaler(new)
