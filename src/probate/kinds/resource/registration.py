"""Registers the kinds of the API group resource.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.kind import USER_METADATA, Kind, Strategy, Validation
from probate.kinds.resource import allocation_status, columns, device_taints, slice_validation, strategy, validation
from probate.kinds.scheduling import defaults as scheduling_defaults

KINDS = (
    Kind(
        group="resource.k8s.io",
        name="DeviceClass",
        plural="deviceclasses",
        strategy=lambda: Strategy(generation_fields=("spec",)),
        validation=lambda: Validation(
            create=validation.create_class, update=validation.update_class, new_on_update=validation.accept_any
        ),
        columns=lambda: columns.PRINTERS["resource.k8s.io", "deviceclasses"],
    ),
    Kind(
        group="resource.k8s.io",
        name="DeviceTaintRule",
        plural="devicetaintrules",
        validation=lambda: Validation(
            create=device_taints.check_rule_of_taints,
            update=device_taints.update_rule_of_taints,
            status=device_taints.check_rule_status,
            new_on_update=validation.accept_any,
        ),
        columns=lambda: columns.PRINTERS["resource.k8s.io", "devicetaintrules"],
    ),
    Kind(
        group="resource.k8s.io",
        name="ResourceClaim",
        plural="resourceclaims",
        defaults=lambda: scheduling_defaults.default_resource_claim,
        strategy=lambda: Strategy(has_status=True, metadata_kept_on_status=USER_METADATA),
        validation=lambda: Validation(
            create=validation.create_claim,
            update=validation.update_spec,
            status=allocation_status.check_status,
            new_on_update=validation.accept_any,
        ),
        columns=lambda: columns.PRINTERS["resource.k8s.io", "resourceclaims"],
    ),
    Kind(
        group="resource.k8s.io",
        name="ResourceClaimTemplate",
        plural="resourceclaimtemplates",
        defaults=lambda: scheduling_defaults.default_resource_claim_template,
        validation=lambda: Validation(
            create=validation.create_template, update=validation.update_spec, new_on_update=validation.accept_any
        ),
        columns=lambda: columns.PRINTERS["resource.k8s.io", "resourceclaimtemplates"],
    ),
    Kind(
        group="resource.k8s.io",
        name="ResourceSlice",
        plural="resourceslices",
        defaults=lambda: scheduling_defaults.default_resource_slice,
        strategy=lambda: Strategy(generation_fields=("spec",), create_at=strategy.create_resource_slice),
        validation=lambda: Validation(
            create=slice_validation.create_slice, update=slice_validation.update_slice, new_on_update=validation.accept_any
        ),
        columns=lambda: columns.PRINTERS["resource.k8s.io", "resourceslices"],
    ),
)
