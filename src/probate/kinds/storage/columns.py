"""Volumes, claims to them, their classes, and the drivers that attach them."""

from __future__ import annotations

from typing import Any

from probate.api.printing import ages, cell_text, object_fields
from probate.api.printing.columns import AGE, NAME, Column, Object, Printer, boolean, integer, text, wide

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_DEFAULT_ATTRIBUTES = "volumeattributesclass.alpha.kubernetes.io/is-default-class"


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
        ages.of(volume, now),
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
        ages.of(claim, now),
        object_fields.text(claim, "spec", "volumeMode", default=cell_text.UNSET),
    ]


def _storage_class(storage_class: Object, now: float) -> list[Any]:
    annotations = object_fields.mapping(storage_class, "metadata", "annotations")
    is_default = any(annotations.get(one) == "true" for one in _DEFAULT_ANNOTATIONS)
    return [
        object_fields.name(storage_class) + (" (default)" if is_default else ""),
        object_fields.text(storage_class, "provisioner"),
        object_fields.text(storage_class, "reclaimPolicy", default="Delete"),
        object_fields.text(storage_class, "volumeBindingMode", default="Immediate"),
        object_fields.boolean(storage_class, "allowVolumeExpansion"),
        ages.of(storage_class, now),
    ]


def _volume_attributes_class(class_: Object, now: float) -> list[Any]:
    is_default = object_fields.mapping(class_, "metadata", "annotations").get(_DEFAULT_ATTRIBUTES) == "true"
    name = object_fields.name(class_) + (" (default)" if is_default else "")
    return [name, object_fields.text(class_, "driverName"), ages.of(class_, now)]


def _volume_attachment(attachment: Object, now: float) -> list[Any]:
    return [
        object_fields.name(attachment),
        object_fields.text(attachment, "spec", "attacher"),
        object_fields.text(attachment, "spec", "source", "persistentVolumeName"),
        object_fields.text(attachment, "spec", "nodeName"),
        object_fields.boolean(attachment, "status", "attached"),
        ages.of(attachment, now),
    ]


def _csi_driver(driver: Object, now: float) -> list[Any]:
    spec = object_fields.mapping(driver, "spec")
    tokens = ",".join(object_fields.text(one, "audience") for one in object_fields.objects(spec, "tokenRequests"))
    return [
        object_fields.name(driver),
        object_fields.boolean(spec, "attachRequired", default=True),
        object_fields.boolean(spec, "podInfoOnMount"),
        object_fields.boolean(spec, "storageCapacity"),
        tokens if isinstance(spec.get("tokenRequests"), list) else cell_text.UNSET,
        object_fields.boolean(spec, "requiresRepublish"),
        ",".join(object_fields.texts(spec, "volumeLifecycleModes")) or cell_text.NONE,
        ages.of(driver, now),
    ]


def _csi_node(node: Object, now: float) -> list[Any]:
    return [object_fields.name(node), object_fields.count(node, "spec", "drivers"), ages.of(node, now)]


_CAPACITY = text("Capacity", "How much fits on the volume.")
_ACCESS_MODES = text("Access Modes", "How the volume may be mounted: RWO, ROX, RWX or RWOP.")
_STORAGE_CLASS = text("StorageClass", "The storage class.")
_ATTRIBUTES_CLASS = text("VolumeAttributesClass", "The class of attributes that can still be changed.")
_VOLUME_MODE = wide("VolumeMode", "Whether the volume has a file system or is a raw block device.")

_GROUP = "storage.k8s.io"

PRINTERS = {
    ("", "persistentvolumes"): Printer(
        (
            NAME,
            _CAPACITY,
            _ACCESS_MODES,
            text("Reclaim Policy", "What happens to the volume when its claim goes."),
            text("Status", "Whether the volume is available, bound, released or failed."),
            text("Claim", "The claim that has the volume."),
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
            text("Volume", "The volume that the claim has."),
            _CAPACITY,
            _ACCESS_MODES,
            _STORAGE_CLASS,
            _ATTRIBUTES_CLASS,
            AGE,
            _VOLUME_MODE,
        ),
        _persistent_volume_claim,
    ),
    (_GROUP, "storageclasses"): Printer(
        (
            NAME,
            text("Provisioner", "Who makes the volumes."),
            text("ReclaimPolicy", "What happens to a volume when its claim goes."),
            text("VolumeBindingMode", "Whether a volume is made at once or when a pod wants it."),
            text("AllowVolumeExpansion", "Whether volumes can grow."),
            AGE,
        ),
        _storage_class,
    ),
    (_GROUP, "volumeattributesclasses"): Printer(
        (NAME, text("DriverName", "The driver that knows the attributes."), AGE), _volume_attributes_class
    ),
    (_GROUP, "volumeattachments"): Printer(
        (
            NAME,
            Column(name="Attacher", format="name", description="The driver that attaches the volume."),
            text("PV", "The volume that is attached."),
            text("Node", "The node that it is attached to."),
            boolean("Attached", "Whether it is attached."),
            AGE,
        ),
        _volume_attachment,
    ),
    (_GROUP, "csidrivers"): Printer(
        (
            NAME,
            boolean("AttachRequired", "Whether volumes must be attached before they are mounted."),
            boolean("PodInfoOnMount", "Whether the driver is told about the pod when it mounts."),
            boolean("StorageCapacity", "Whether pods are scheduled by how much storage the driver has left."),
            text("TokenRequests", "The audiences of the tokens that the driver is given."),
            boolean("RequiresRepublish", "Whether the driver wants to be called again from time to time."),
            text("Modes", "The kinds of volumes that the driver has."),
            AGE,
        ),
        _csi_driver,
    ),
    (_GROUP, "csinodes"): Printer((NAME, integer("Drivers", "How many drivers run on the node."), AGE), _csi_node),
}
