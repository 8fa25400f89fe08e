"""Prepares kinds of storage.k8s.io for a create."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import add_finalizer


def create_attributes_class(class_: Object) -> None:
    """Prepares a new VolumeAttributesClass: adds the finalizer that holds it while a claim or a volume uses it."""
    add_finalizer(class_, "kubernetes.io/vac-protection")
