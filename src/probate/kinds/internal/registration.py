"""Registers the kinds of the API group internal.apiserver.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.apiregistration import columns as apiregistration_columns
from probate.kinds.kind import Kind

KINDS = (
    Kind(
        group="internal.apiserver.k8s.io",
        name="StorageVersion",
        plural="storageversions",
        columns=lambda: apiregistration_columns.PRINTERS["internal.apiserver.k8s.io", "storageversions"],
    ),
)
