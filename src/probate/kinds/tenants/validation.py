"""Validates Tenants. `api.names` has the rule for their names; `server.authz.tenant_check` protects their finalizer."""

from __future__ import annotations

from probate.api import names, quantities, tenants
from probate.api.deletion import COLLECTOR_FINALIZERS
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid
from probate.kinds.shared.condition_validation import check_conditions
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_nonnegative,
    check_rule,
    child,
    each,
    text,
    texts,
)

TERMINATING = "Terminating"
PHASES = ("Pending", "Active", TERMINATING)

_SPEC, _STATUS = FieldPath("spec"), FieldPath("status")
_OWN_FINALIZERS = COLLECTOR_FINALIZERS | {tenants.FINALIZER}


def create_tenant(tenant: Value) -> Problems:
    """Validates a new Tenant."""
    if child(tenant, "metadata").get("generateName"):
        detail = "the ID of a tenant is part of many names and is not generated: set metadata.name"
        yield forbidden(FieldPath("metadata") / "generateName", detail)
    yield from check_tenant(tenant)


def check_tenant(tenant: Value) -> Problems:
    """Validates a Tenant, new or changed."""
    spec = child(tenant, "spec")
    if spec.get("preventDeletion") and child(tenant, "metadata").get("ownerReferences"):
        yield forbidden(_SPEC / "preventDeletion", "a Tenant that has owners is deleted with them: remove metadata.ownerReferences")
    for name, amount in child(child(spec, "quota"), "hard").items():
        at = _SPEC / "quota" / "hard" @ name
        yield from check_rule(name, at, names.validate_qualified_name)
        if not quantities.is_quantity(amount) or quantities.parse(amount) < 0:
            yield invalid(at, amount, "must be a quantity that is greater than or equal to 0")
    for index, finalizer in enumerate(texts(spec, "forceFinalizers")):
        at = _SPEC / "forceFinalizers" / index
        yield from check_rule(finalizer, at, names.validate_qualified_name)
        if finalizer in _OWN_FINALIZERS:
            yield invalid(at, finalizer, "this finalizer is removed by the server as soon as that is safe")


def check_status(new: Value, old: Value) -> Problems:
    """Validates the status of a Tenant. Its phase is Terminating from its deletion on."""
    status = child(new, "status")
    yield from check_choice(status, _STATUS, "phase", supported=PHASES)
    yield from _check_phase(text(status, "phase"), is_deleting="deletionTimestamp" in child(old, "metadata"))
    yield from check_nonnegative(status, _STATUS, "objects", "observedGeneration")
    yield from check_conditions(status, _STATUS)
    seen: set[tuple[str, str]] = set()
    for one, at in each(status, _STATUS, "remaining"):
        resource = text(one, "group"), text(one, "resource")
        if resource in seen:
            yield duplicate(at, ".".join(filter(None, reversed(resource))))
        seen.add(resource)
        yield from check_nonnegative(one, at, "count")


def _check_phase(phase: str, *, is_deleting: bool) -> Problems:
    if phase in PHASES and is_deleting != (phase == TERMINATING):
        detail = (
            f"may only be {TERMINATING} while the Tenant is being deleted" if is_deleting else "the Tenant is not being deleted"
        )
        yield invalid(_STATUS / "phase", phase, detail)
