"""Registers the kinds of the API group storagemigration.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.apiregistration import columns as apiregistration_columns
from probate.kinds.kind import Kind

KINDS = (
    Kind(
        group="storagemigration.k8s.io",
        name="StorageVersionMigration",
        plural="storageversionmigrations",
        columns=lambda: apiregistration_columns.PRINTERS["storagemigration.k8s.io", "storageversionmigrations"],
    ),
)
