"""Persistent volumes and the storage group."""

from __future__ import annotations

from probate.kinds.core.pods.volumes.defaults import default_source
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import Object, child, fill, fill_zero, made


def default_persistent_volume(volume: Object) -> None:
    """Fill a PersistentVolume."""
    if (spec := made(volume, "spec")) is not None:
        fill_zero(spec, persistentVolumeReclaimPolicy="Retain")
        default_volume_spec(spec)
    if (status := made(volume, "status")) is not None:
        fill_zero(status, phase="Pending")


def default_volume_spec(spec: Object) -> None:
    """Fill the spec of a volume, of its own or inside an attachment."""
    fill(spec, volumeMode="Filesystem")
    quantity_defaults.settle_lists(spec, "capacity")
    default_source(spec)


def default_storage_class(storage_class: Object) -> None:
    """Fill a StorageClass."""
    fill(storage_class, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def default_csi_driver(driver: Object) -> None:
    """Fill a CSIDriver."""
    spec = made(driver, "spec")
    if spec is None:
        return
    fill(spec, attachRequired=True, podInfoOnMount=False, storageCapacity=False, fsGroupPolicy="ReadWriteOnceWithFSType")
    fill(spec, requiresRepublish=False, seLinuxMount=False, volumeLifecycleModes=["Persistent"])


def default_csi_storage_capacity(capacity: Object) -> None:
    """Write a CSIStorageCapacity's amounts as all amounts are written."""
    quantity_defaults.settle(capacity, "capacity", "maximumVolumeSize")


def default_volume_attachment(attachment: Object) -> None:
    """Fill a VolumeAttachment's volume, where it describes one."""
    source = child(made(attachment, "spec") or {}, "source")
    inline = None if source is None else child(source, "inlineVolumeSpec")
    if inline is not None:
        default_volume_spec(inline)
