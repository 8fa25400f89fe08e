"""Table columns of PersistentVolumes and PersistentVolumeClaims."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text, wide

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _access_modes(value: Any, *path: str) -> str:
    found = object_fields.texts(value, *path)
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _storage_class_name(object_: Object) -> str:
    annotations = object_fields.mapping(object_, "metadata", "annotations")
    return object_fields.text(annotations, _CLASS_ANNOTATION, default=object_fields.text(object_, "spec", "storageClassName"))


def _phase(object_: Object) -> str:
    return "Terminating" if object_fields.is_deleting(object_) else object_fields.text(object_, "status", "phase")


def _persistent_volume(volume: Object, now: float) -> list[Any]:
    spec = object_fields.mapping(volume, "spec")
    return [
        object_fields.name(volume),
        object_fields.quantity(spec, "capacity", "storage"),
        _access_modes(spec, "accessModes"),
        object_fields.text(spec, "persistentVolumeReclaimPolicy"),
        _phase(volume),
        _claim(spec.get("claimRef")),
        _storage_class_name(volume),
        object_fields.text(spec, "volumeAttributesClassName", default=cell_text.UNSET),
        object_fields.text(volume, "status", "reason"),
        ages.object_age(volume, now),
        object_fields.text(spec, "volumeMode", default=cell_text.UNSET),
    ]


def _claim(reference: Any) -> str:
    if not isinstance(reference, dict):
        return ""
    return f"{object_fields.text(reference, 'namespace')}/{object_fields.text(reference, 'name')}"


def _persistent_volume_claim(claim: Object, now: float) -> list[Any]:
    volume = object_fields.text(claim, "spec", "volumeName")
    return [
        object_fields.name(claim),
        _phase(claim),
        volume,
        object_fields.quantity(claim, "status", "capacity", "storage") if volume else "",
        _access_modes(claim, "status", "accessModes") if volume else "",
        _storage_class_name(claim),
        object_fields.text(claim, "spec", "volumeAttributesClassName", default=cell_text.UNSET),
        ages.object_age(claim, now),
        object_fields.text(claim, "spec", "volumeMode", default=cell_text.UNSET),
    ]


_CAPACITY = text("Capacity", "The capacity of the volume.")
_ACCESS_MODES = text("Access Modes", "The access modes of the volume: RWO, ROX, RWX or RWOP.")
_STORAGE_CLASS = text("StorageClass", "The storage class.")
_ATTRIBUTES_CLASS = text("VolumeAttributesClass", "The VolumeAttributesClass.")
_VOLUME_MODE = wide("VolumeMode", "Whether the volume has a file system or is a raw block device.")

PRINTERS = {
    ("", "persistentvolumes"): Printer(
        (
            NAME,
            _CAPACITY,
            _ACCESS_MODES,
            text("Reclaim Policy", "What happens to the volume when its claim is deleted."),
            text("Status", "Whether the volume is available, bound, released or failed."),
            text("Claim", "The claim that the volume is bound to."),
            _STORAGE_CLASS,
            _ATTRIBUTES_CLASS,
            text("Reason", "Why the volume is in this state."),
            AGE,
            _VOLUME_MODE,
        ),
        _persistent_volume,
    ),
    ("", "persistentvolumeclaims"): Printer(
        (
            NAME,
            text("Status", "Whether the claim is pending, bound or lost."),
            text("Volume", "The volume that the claim is bound to."),
            _CAPACITY,
            _ACCESS_MODES,
            _STORAGE_CLASS,
            _ATTRIBUTES_CLASS,
            AGE,
            _VOLUME_MODE,
        ),
        _persistent_volume_claim,
    ),
}
