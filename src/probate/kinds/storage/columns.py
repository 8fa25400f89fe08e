"""Table columns of StorageClasses, VolumeAttributesClasses, VolumeAttachments, CSIDrivers and CSINodes."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Column, Printer, boolean, integer, text

_DEFAULT_ANNOTATIONS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_DEFAULT_ATTRIBUTES = "volumeattributesclass.alpha.kubernetes.io/is-default-class"


def _storage_class(storage_class: Object, now: float) -> list[Any]:
    annotations = object_fields.mapping(storage_class, "metadata", "annotations")
    is_default = any(annotations.get(one) == "true" for one in _DEFAULT_ANNOTATIONS)
    return [
        object_fields.name(storage_class) + (" (default)" if is_default else ""),
        object_fields.text(storage_class, "provisioner"),
        object_fields.text(storage_class, "reclaimPolicy", default="Delete"),
        object_fields.text(storage_class, "volumeBindingMode", default="Immediate"),
        object_fields.boolean(storage_class, "allowVolumeExpansion"),
        ages.object_age(storage_class, now),
    ]


def _volume_attributes_class(class_: Object, now: float) -> list[Any]:
    is_default = object_fields.mapping(class_, "metadata", "annotations").get(_DEFAULT_ATTRIBUTES) == "true"
    name = object_fields.name(class_) + (" (default)" if is_default else "")
    return [name, object_fields.text(class_, "driverName"), ages.object_age(class_, now)]


def _volume_attachment(attachment: Object, now: float) -> list[Any]:
    return [
        object_fields.name(attachment),
        object_fields.text(attachment, "spec", "attacher"),
        object_fields.text(attachment, "spec", "source", "persistentVolumeName"),
        object_fields.text(attachment, "spec", "nodeName"),
        object_fields.boolean(attachment, "status", "attached"),
        ages.object_age(attachment, now),
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
        ages.object_age(driver, now),
    ]


def _csi_node(node: Object, now: float) -> list[Any]:
    return [object_fields.name(node), object_fields.count(node, "spec", "drivers"), ages.object_age(node, now)]


_GROUP = "storage.k8s.io"

PRINTERS = {
    (_GROUP, "storageclasses"): Printer(
        (
            NAME,
            text("Provisioner", "The provisioner of the volumes."),
            text("ReclaimPolicy", "What happens to a volume when its claim is deleted."),
            text("VolumeBindingMode", "Whether volumes are provisioned immediately or for the first consumer."),
            text("AllowVolumeExpansion", "Whether volumes can be expanded."),
            AGE,
        ),
        _storage_class,
    ),
    (_GROUP, "volumeattributesclasses"): Printer(
        (NAME, text("DriverName", "The driver that interprets the parameters."), AGE), _volume_attributes_class
    ),
    (_GROUP, "volumeattachments"): Printer(
        (
            NAME,
            Column(name="Attacher", format="name", description="The driver that attaches the volume."),
            text("PV", "The volume that is attached."),
            text("Node", "The node that the volume is attached to."),
            boolean("Attached", "Whether the volume is attached."),
            AGE,
        ),
        _volume_attachment,
    ),
    (_GROUP, "csidrivers"): Printer(
        (
            NAME,
            boolean("AttachRequired", "Whether volumes must be attached before they are mounted."),
            boolean("PodInfoOnMount", "Whether the driver needs pod information when it mounts."),
            boolean("StorageCapacity", "Whether the scheduler considers the driver's storage capacity."),
            text("TokenRequests", "The audiences of the tokens that the driver gets."),
            boolean("RequiresRepublish", "Whether volumes are published again periodically."),
            text("Modes", "The volume lifecycle modes that the driver supports."),
            AGE,
        ),
        _csi_driver,
    ),
    (_GROUP, "csinodes"): Printer((NAME, integer("Drivers", "The number of drivers on the node."), AGE), _csi_node),
}
