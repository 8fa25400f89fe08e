"""Registers the kinds of the API group flowcontrol.apiserver.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.apiregistration import columns as apiregistration_columns
from probate.kinds.flowcontrol import defaults, validation
from probate.kinds.kind import USER_METADATA, Kind, Strategy, Validation
from probate.kinds.shared import condition_validation

KINDS = (
    Kind(
        group="flowcontrol.apiserver.k8s.io",
        name="FlowSchema",
        plural="flowschemas",
        defaults=lambda: defaults.default_flow_schema,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",), metadata_kept_on_status=USER_METADATA),
        validation=lambda: Validation(create=validation.check_flow_schema, status=condition_validation.check_flow_status),
        columns=lambda: apiregistration_columns.PRINTERS["flowcontrol.apiserver.k8s.io", "flowschemas"],
    ),
    Kind(
        group="flowcontrol.apiserver.k8s.io",
        name="PriorityLevelConfiguration",
        plural="prioritylevelconfigurations",
        defaults=lambda: defaults.default_priority_level,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",), metadata_kept_on_status=USER_METADATA),
        validation=lambda: Validation(create=validation.check_priority_level, status=condition_validation.check_flow_status),
        columns=lambda: apiregistration_columns.PRINTERS["flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"],
    ),
)
