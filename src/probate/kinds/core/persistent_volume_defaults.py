"""Defaults of PersistentVolumes."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.pods.volumes.defaults import default_source
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import ensure_child, fill, fill_zero


def default_persistent_volume(volume: Object) -> None:
    """Sets the defaults of a PersistentVolume."""
    if (spec := ensure_child(volume, "spec")) is not None:
        fill_zero(spec, persistentVolumeReclaimPolicy="Retain")
        default_volume_spec(spec)
    if (status := ensure_child(volume, "status")) is not None:
        fill_zero(status, phase="Pending")


def default_volume_spec(spec: Object) -> None:
    """Sets the defaults of a volume's spec, in a PersistentVolume or inside a VolumeAttachment."""
    fill(spec, volumeMode="Filesystem")
    quantity_defaults.normalize_lists(spec, "capacity")
    default_source(spec)
