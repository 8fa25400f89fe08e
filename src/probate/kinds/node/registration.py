"""Registers the kinds of the API group node.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.core import node_columns
from probate.kinds.kind import Kind, Validation, on_every_write
from probate.kinds.scheduling import defaults as scheduling_defaults
from probate.kinds.scheduling import validation as scheduling_validation
from probate.kinds.shared import object_warnings

KINDS = (
    Kind(
        group="node.k8s.io",
        name="RuntimeClass",
        plural="runtimeclasses",
        defaults=lambda: scheduling_defaults.default_runtime_class,
        validation=lambda: Validation(
            create=scheduling_validation.check_runtime_class, update=scheduling_validation.update_runtime_class
        ),
        warnings=lambda: on_every_write(object_warnings.of_runtime_class),
        columns=lambda: node_columns.PRINTERS["node.k8s.io", "runtimeclasses"],
    ),
)
