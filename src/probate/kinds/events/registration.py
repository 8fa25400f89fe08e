"""Registers the kinds of the API group events.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.events import columns, conversion, validation
from probate.kinds.kind import Conversion, Kind, Validation

KINDS = (
    Kind(
        group="events.k8s.io",
        name="Event",
        plural="events",
        validation=lambda: Validation(
            create=validation.create_strict, update=validation.update_strict, new_on_update=validation.check_again
        ),
        columns=lambda: columns.PRINTERS["events.k8s.io", "events"],
        conversions={"v1": lambda: Conversion(conversion.to_core, conversion.from_core)},
    ),
)
