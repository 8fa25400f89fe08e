"""Prepares CertificateSigningRequests: approvers and signers write the same list of conditions, through two subresources.

Both also change metadata, as in Kubernetes: approvers and signers write annotations.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, ensure_child, fill_zero, items, restore_fields, text

DECISIONS = ("Approved", "Denied")


def update_status(new: Object, old: Object, *, now: str) -> None:
    """Prepares a change through `status`: decisions keep their old values.

    Added or removed ones are kept, so that validation rejects them.
    """
    status, before = ensure_child(new, "status"), items(child(old, "status"), "conditions")
    requested = items(status, "conditions")
    if status is not None and requested:
        status["conditions"] = _stamped(_with_decisions(requested, before), before, now)


def update_approval(new: Object, old: Object, *, now: str) -> Object:
    """Returns the request after a change through `approval`: metadata and conditions change, and nothing else."""
    before, requested = (items(child(request, "status"), "conditions") for request in (old, new))
    status = {name: value for name, value in (child(old, "status") or {}).items() if name != "conditions"}
    if requested:  # an empty list equals an absent one
        status["conditions"] = _stamped(requested, before, now)
    return {**old, "metadata": new["metadata"], "status": status}


def _with_decisions(conditions: list[Object], before: list[Object]) -> list[Object]:
    """Returns the conditions with their old decisions, each in the place of one of its type.

    If the number of decisions of a type changed, they are kept as requested.
    """
    for decision in DECISIONS:
        kept = [one for one in before if text(one, "type") == decision]
        if len(kept) == sum(text(one, "type") == decision for one in conditions):
            left = iter(kept)
            conditions = [next(left) if text(one, "type") == decision else one for one in conditions]
    return conditions


def _stamped(conditions: list[Object], before: list[Object], now: str) -> list[Object]:
    """Returns the conditions with times: a condition without one gets now, or its old time if its status is unchanged."""
    since = {(text(one, "type"), text(one, "status")): one.get("lastTransitionTime") for one in before}
    stamped = [dict(one) for one in conditions]
    for one in stamped:
        fill_zero(one, lastUpdateTime=now, lastTransitionTime=since.get((text(one, "type"), text(one, "status"))) or now)
    return stamped


def update_signing_request(new: Object, old: Object) -> None:
    """Prepares a changed CertificateSigningRequest: its spec never changes."""
    restore_fields(new, old, "spec")
