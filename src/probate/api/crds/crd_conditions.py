"""What a definition's status says of it: the conditions, and how they follow from the definition and the others.

NamesAccepted                          its names are its own; decided by `names.review`
Established                            it is served; true once its names were accepted, and from then on
NonStructuralSchema                    there only when a schema is not structural
KubernetesAPIApprovalPolicyConformant  there only for the community's groups: is the definition approved
Terminating                            its objects are being deleted

`reconcile` is level-driven: called again with its own result it changes nothing. The time comes from the caller.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from probate.api.crds import approval
from probate.api.crds.layout import Definition, schema_of, spec_of, versions_of
from probate.api.crds.name_acceptance import review
from probate.api.structural.schema_check import is_structural

Condition = dict[str, Any]

ESTABLISHED, NAMES_ACCEPTED, TERMINATING = "Established", "NamesAccepted", "Terminating"
NON_STRUCTURAL, APPROVAL = "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def reconcile(crd: Definition, others: Iterable[Definition], now: str) -> dict[str, Any]:
    """The status that the definition should have, given all definitions. `now` is for conditions that change."""
    return settle(crd, others, now, non_structural(crd))


def settle(crd: Definition, others: Iterable[Definition], now: str, violations: Condition | None) -> dict[str, Any]:
    """The same, if it is known already what `non_structural` says of it: that takes long for a large schema."""
    status = copy.deepcopy(crd.get("status") or {})
    names = review(crd, others)
    status["acceptedNames"] = {"plural": "", "kind": "", **names.accepted}
    conditions = status["conditions"] = status.get("conditions") or []
    _set(conditions, _condition(NAMES_ACCEPTED, names.reason, names.message, is_true=names.are_accepted), now)
    _set(conditions, _established(crd, are_accepted=names.are_accepted), now)
    _set_or_drop(conditions, NON_STRUCTURAL, violations, now)
    _set_or_drop(conditions, APPROVAL, _approval(crd), now)
    return status


def find(crd: Definition, kind: str) -> Condition | None:
    """The condition of this type."""
    conditions = (crd.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one.get("type") == kind), None)


def is_true(crd: Definition, kind: str) -> bool:
    """Whether the condition is there and true."""
    found = find(crd, kind)
    return found is not None and found.get("status") == "True"


def mark_terminating(status: dict[str, Any], reason: str, message: str, now: str) -> dict[str, Any]:
    """The status of a definition whose objects are to be deleted, or are being deleted. See the constants for reasons."""
    changed = copy.deepcopy(status)
    conditions = changed["conditions"] = changed.get("conditions") or []
    _set(conditions, _condition(TERMINATING, reason, message, is_true=reason not in _OVER), now)
    return changed


DELETION_PENDING = "InstanceDeletionPending"
DELETION_IN_PROGRESS = "InstanceDeletionInProgress"
DELETION_FAILED = "InstanceDeletionFailed"
DELETION_COMPLETED = "InstanceDeletionCompleted"
NEVER_ESTABLISHED = "NeverEstablished"
_OVER = frozenset({DELETION_COMPLETED, NEVER_ESTABLISHED})


def _condition(kind: str, reason: str, message: str, *, is_true: bool) -> Condition:
    return {"type": kind, "status": "True" if is_true else "False", "reason": reason, "message": message}


def _established(crd: Definition, *, are_accepted: bool) -> Condition:
    before = find(crd, ESTABLISHED)
    if before is not None and before.get("status") == "True":
        return {field: one for field, one in before.items() if field != "lastTransitionTime"}
    if are_accepted:
        return _condition(ESTABLISHED, "InitialNamesAccepted", "the initial names have been accepted", is_true=True)
    return _condition(ESTABLISHED, "NotAccepted", "not all names are accepted", is_true=False)


def non_structural(crd: Definition) -> Condition | None:
    """The condition that a definition has if its schemas are not structural."""
    names = [one.get("name") for one in versions_of(crd) if schema_of(one) is not None and not is_structural(schema_of(one))]
    if not names:
        return None
    return _condition(NON_STRUCTURAL, "Violations", f"not structural: the schemas of {', '.join(map(str, names))}", is_true=True)


def _approval(crd: Definition) -> Condition | None:
    if not approval.is_protected(spec_of(crd).get("group") or ""):
        return None
    reason, message = approval.approval_of(crd)
    return _condition(APPROVAL, reason, message, is_true=reason == approval.APPROVED)


def _set(conditions: list[Condition], wanted: Condition, now: str) -> None:
    """Replace the condition of this type or add it. Its time is that of its last change between true and false."""
    before = next((one for one in conditions if one.get("type") == wanted["type"]), None)
    if before is None:
        conditions.append({"lastTransitionTime": now, **wanted})
        return
    if before.get("status") != wanted["status"] or not before.get("lastTransitionTime"):
        before["lastTransitionTime"] = now
    before.update(wanted)


def _set_or_drop(conditions: list[Condition], kind: str, wanted: Condition | None, now: str) -> None:
    if wanted is not None:
        _set(conditions, wanted, now)
    else:
        conditions[:] = [one for one in conditions if one.get("type") != kind]
