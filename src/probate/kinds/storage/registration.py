"""Registers the kinds of the API group storage.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.core.volumes import status_validation as volume_status_validation
from probate.kinds.core.volumes import warnings as volume_warnings
from probate.kinds.kind import USER_METADATA, Kind, Strategy, Validation, on_every_write
from probate.kinds.storage import class_validation, columns, csi_validation, defaults, strategy

KINDS = (
    Kind(
        group="storage.k8s.io",
        name="CSIDriver",
        plural="csidrivers",
        defaults=lambda: defaults.default_csi_driver,
        strategy=lambda: Strategy(generation_fields=("spec",), first_generation=False),
        validation=lambda: Validation(create=csi_validation.check_driver, update=csi_validation.update_driver),
        columns=lambda: columns.PRINTERS["storage.k8s.io", "csidrivers"],
    ),
    Kind(
        group="storage.k8s.io",
        name="CSINode",
        plural="csinodes",
        validation=lambda: Validation(create=csi_validation.check_node, update=csi_validation.update_node),
        columns=lambda: columns.PRINTERS["storage.k8s.io", "csinodes"],
    ),
    Kind(
        group="storage.k8s.io",
        name="CSIStorageCapacity",
        defaults=lambda: defaults.default_csi_storage_capacity,
        validation=lambda: Validation(create=csi_validation.check_capacity, update=csi_validation.update_capacity),
        warnings=lambda: on_every_write(volume_warnings.of_capacity),
    ),
    Kind(
        group="storage.k8s.io",
        name="StorageClass",
        plural="storageclasses",
        defaults=lambda: defaults.default_storage_class,
        validation=lambda: Validation(create=class_validation.check_storage_class, update=class_validation.update_storage_class),
        warnings=lambda: on_every_write(volume_warnings.of_class),
        columns=lambda: columns.PRINTERS["storage.k8s.io", "storageclasses"],
    ),
    Kind(
        group="storage.k8s.io",
        name="VolumeAttachment",
        plural="volumeattachments",
        defaults=lambda: defaults.default_volume_attachment,
        strategy=lambda: Strategy(has_status=True, metadata_kept_on_status=USER_METADATA),
        validation=lambda: Validation(
            create=csi_validation.create_attachment,
            update=csi_validation.update_attachment,
            status=volume_status_validation.check_attachment_status,
            new_on_update=csi_validation.check_attachment,
        ),
        columns=lambda: columns.PRINTERS["storage.k8s.io", "volumeattachments"],
    ),
    Kind(
        group="storage.k8s.io",
        name="VolumeAttributesClass",
        plural="volumeattributesclasses",
        strategy=lambda: Strategy(create=strategy.create_attributes_class),
        validation=lambda: Validation(
            create=class_validation.check_attributes_class, update=class_validation.update_attributes_class
        ),
        columns=lambda: columns.PRINTERS["storage.k8s.io", "volumeattributesclasses"],
    ),
)
