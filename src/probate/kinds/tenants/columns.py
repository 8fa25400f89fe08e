"""Table columns of Tenants."""

from __future__ import annotations

from typing import Any

from probate.api import tenants
from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text, wide


def _tenant(tenant: Object, now: float) -> list[Any]:
    objects = object_fields.at(tenant, "status", "objects")
    return [
        object_fields.name(tenant),
        object_fields.text(tenant, "status", "phase") or cell_text.NONE,
        str(objects) if isinstance(objects, int) else cell_text.NONE,
        _remaining(tenant),
        object_fields.text(tenant, "status", "waitingFor") or cell_text.NONE,
        ages.object_age(tenant, now),
        _readiness(tenant),
    ]


def _remaining(tenant: Object) -> str:
    """Returns how many objects are to be deleted; none of a tenant that is not being deleted."""
    if object_fields.text(tenant, "status", "phase") != "Terminating":
        return cell_text.NONE
    counts = [one.get("count") for one in object_fields.objects(tenant, "status", "remaining")]
    return str(sum(count for count in counts if isinstance(count, int)))


def _readiness(tenant: Object) -> str:
    """Returns the status of the condition Ready, and if that is not True its reason."""
    conditions = object_fields.objects(tenant, "status", "conditions")
    ready = next((one for one in conditions if one.get("type") == tenants.READY), None)
    if ready is None:
        return cell_text.NONE
    status, reason = object_fields.text(ready, "status"), object_fields.text(ready, "reason")
    return status if status == "True" or not reason else f"{status} ({reason})"


PRINTERS = {
    ("tenant.kubezoo.io", "tenants"): Printer(
        (
            NAME,
            text("Phase", "Whether the tenant is Pending, Active or Terminating."),
            text("Objects", "The number of the tenant's objects when they were last counted."),
            text("Remaining", "The number of objects that are still to be deleted with the tenant."),
            text("Waiting-For", "What the deletion of the tenant waits for."),
            AGE,
            wide("Ready", "Whether the tenant has everything that every tenant has, or why not."),
        ),
        _tenant,
    ),
}
