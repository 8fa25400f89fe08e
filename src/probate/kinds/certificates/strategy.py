"""CertificateSigningRequests: who decides on them and who signs them write the same list of conditions, by two paths.

Both change metadata too, as in Kubernetes: approvers and signers leave notes in annotations.
"""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, child, fill_zero, items, made, text

DECISIONS = ("Approved", "Denied")


def update_status(new: Object, old: Object, *, now: str) -> None:
    """Prepare a change through `status`: decisions stay as they are. Those added or taken away are for the checks to refuse."""
    status, before = made(new, "status"), items(child(old, "status"), "conditions")
    wanted = items(status, "conditions")
    if status is not None and wanted:
        status["conditions"] = _stamped(_with_decisions(wanted, before), before, now)


def update_approval(new: Object, old: Object, *, now: str) -> Object:
    """What a change through `approval` makes of the request: other metadata and conditions, and nothing else."""
    before, wanted = (items(child(request, "status"), "conditions") for request in (old, new))
    status = {name: value for name, value in (child(old, "status") or {}).items() if name != "conditions"}
    if wanted:  # an empty list is as good as none
        status["conditions"] = _stamped(wanted, before, now)
    return {**old, "metadata": new["metadata"], "status": status}


def _with_decisions(wanted: list[Object], before: list[Object]) -> list[Object]:
    """The conditions with decisions as they were, each in the place of one of its type. What is of another number stays."""
    for decision in DECISIONS:
        kept = [one for one in before if text(one, "type") == decision]
        if len(kept) == sum(text(one, "type") == decision for one in wanted):
            left = iter(kept)
            wanted = [next(left) if text(one, "type") == decision else one for one in wanted]
    return wanted


def _stamped(wanted: list[Object], before: list[Object], now: str) -> list[Object]:
    """Conditions that do not say since when are from now; one that was there with the same status, since it was."""
    since = {(text(one, "type"), text(one, "status")): one.get("lastTransitionTime") for one in before}
    stamped = [dict(one) for one in wanted]
    for one in stamped:
        fill_zero(one, lastUpdateTime=now, lastTransitionTime=since.get((text(one, "type"), text(one, "status"))) or now)
    return stamped
