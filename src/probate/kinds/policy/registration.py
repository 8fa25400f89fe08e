"""Registers the kinds of the API group policy: one row for each."""

from __future__ import annotations

from probate.kinds.apps import status_validation as apps_status_validation
from probate.kinds.kind import Kind, Strategy, Validation
from probate.kinds.scheduling import columns as scheduling_columns
from probate.kinds.scheduling import validation as scheduling_validation

KINDS = (
    Kind(
        group="policy",
        name="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(
            create=scheduling_validation.check_disruption_budget, status=apps_status_validation.check_budget
        ),
        columns=lambda: scheduling_columns.PRINTERS["policy", "poddisruptionbudgets"],
    ),
)
