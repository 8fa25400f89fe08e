"""Registers the kinds of the API group scheduling.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.kind import Kind, Strategy, Validation
from probate.kinds.scheduling import columns, defaults, validation

KINDS = (
    Kind(
        group="scheduling.k8s.io",
        name="PriorityClass",
        plural="priorityclasses",
        defaults=lambda: defaults.default_priority_class,
        strategy=lambda: Strategy(generation_fields=()),
        validation=lambda: Validation(create=validation.check_priority_class, update=validation.update_priority_class),
        columns=lambda: columns.PRINTERS["scheduling.k8s.io", "priorityclasses"],
    ),
)
