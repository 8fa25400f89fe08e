"""Sets the defaults of the storage group."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.persistent_volume_defaults import default_volume_spec
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import child, ensure_child, fill


def default_storage_class(storage_class: Object) -> None:
    """Sets the defaults of a StorageClass."""
    fill(storage_class, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def default_csi_driver(driver: Object) -> None:
    """Sets the defaults of a CSIDriver."""
    spec = ensure_child(driver, "spec")
    if spec is None:
        return
    fill(spec, attachRequired=True, podInfoOnMount=False, storageCapacity=False, fsGroupPolicy="ReadWriteOnceWithFSType")
    fill(spec, requiresRepublish=False, seLinuxMount=False, volumeLifecycleModes=["Persistent"])


def default_csi_storage_capacity(capacity: Object) -> None:
    """Writes the amounts of a CSIStorageCapacity in canonical form."""
    quantity_defaults.normalize(capacity, "capacity", "maximumVolumeSize")


def default_volume_attachment(attachment: Object) -> None:
    """Sets the defaults of the inline volume spec of a VolumeAttachment, if it has one."""
    source = child(ensure_child(attachment, "spec") or {}, "source")
    inline = None if source is None else child(source, "inlineVolumeSpec")
    if inline is not None:
        default_volume_spec(inline)
