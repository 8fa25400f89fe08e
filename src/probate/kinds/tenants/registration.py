"""Registers the kinds of the API group tenant.kubezoo.io: one row for each."""

from __future__ import annotations

from probate.kinds.kind import Kind, Strategy, Validation
from probate.kinds.tenants import columns, strategy, validation

KINDS = (
    Kind(
        group="tenant.kubezoo.io",
        name="Tenant",
        plural="tenants",
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",), create=strategy.create_tenant),
        validation=lambda: Validation(
            create=validation.create_tenant, new_on_update=validation.check_tenant, status=validation.check_status
        ),
        columns=lambda: columns.PRINTERS["tenant.kubezoo.io", "tenants"],
    ),
)
