"""The status that a Tenant has while it lives: its phase, and whether it has everything that a tenant must have.

    phase Pending, Ready absent or False     it does not have everything yet
    phase Active,  Ready True                it has
    phase Active,  Ready False               something of it was deleted or changed since, and cannot be restored

A tenant that was Active once stays Active: its users can work although one object is missing. The status of a tenant that is being
deleted belongs to the controller that deletes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from probate.api.objects import Object
from probate.api.tenants import READY
from probate.controllers.runtime import conditions

PENDING, ACTIVE = "Pending", "Active"
PROVISIONED, FAILED = "Provisioned", "ProvisioningFailed"
MAX_MESSAGE = 8192
"""The length of the condition's message, which names each object that is missing."""


def new_status(tenant: Object, problems: Sequence[str], now: str) -> Object:
    """Returns the status of a tenant, given what is wrong with its objects."""
    old: Object = tenant.get("status") or {}
    phase = ACTIVE if not problems else old.get("phase") or PENDING
    ready = {**_condition(problems), "observedGeneration": tenant["metadata"]["generation"]}
    return {
        **old,
        "phase": phase,
        "observedGeneration": tenant["metadata"]["generation"],
        "conditions": _replaced(old.get("conditions") or [], ready, now),
    }


def phase_of(tenant: Object) -> str:
    """Returns the phase of a tenant; empty if it has none yet."""
    phase: str = (tenant.get("status") or {}).get("phase") or ""
    return phase


def readiness_of(tenant: Object) -> str:
    """Returns the status of the condition Ready: True or False; empty if there is none."""
    found = conditions.find((tenant.get("status") or {}).get("conditions") or [], READY)
    readiness: str = found["status"] if found is not None else ""
    return readiness


def _condition(problems: Sequence[str]) -> Object:
    if problems:
        message = "; ".join(problems)[:MAX_MESSAGE]
        return conditions.new_condition(READY, "False", reason=FAILED, message=message)
    message = "The namespaces, roles and bindings of the tenant exist"
    return conditions.new_condition(READY, "True", reason=PROVISIONED, message=message)


def _replaced(old: conditions.Conditions, new: Object, now: str) -> conditions.Conditions:
    """Returns the conditions with the new one, whose time is that of the last change of its status."""
    before = conditions.find(old, new["type"])
    since = before.get("lastTransitionTime") if before is not None and before["status"] == new["status"] else None
    return [*conditions.without(old, new["type"]), {**new, "lastTransitionTime": since or now}]
