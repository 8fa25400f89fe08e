"""Registers the kinds of the API group coordination.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.core import cluster_validation, node_columns
from probate.kinds.kind import Kind, Validation

KINDS = (
    Kind(
        group="coordination.k8s.io",
        name="Lease",
        plural="leases",
        validation=lambda: Validation(create=cluster_validation.check_lease),
        columns=lambda: node_columns.PRINTERS["coordination.k8s.io", "leases"],
    ),
    Kind(
        group="coordination.k8s.io",
        name="LeaseCandidate",
        plural="leasecandidates",
        columns=lambda: node_columns.PRINTERS["coordination.k8s.io", "leasecandidates"],
    ),
)
