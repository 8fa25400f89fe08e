"""Prepares Tenants."""

from __future__ import annotations

from probate.api import tenants
from probate.api.objects import Object
from probate.kinds.shared.object_fields import add_finalizer


def create_tenant(tenant: Object) -> None:
    """Prepares a new Tenant: adds the finalizer that holds it until nothing of the tenant is left."""
    add_finalizer(tenant, tenants.FINALIZER)
    tenant["status"] = {"phase": "Pending"}
