"""The conditions of a CRD, derived from the CRD and from the other CRDs.

NamesAccepted                          no other CRD has its names; decided by `name_acceptance.accept_names`
Established                            it is served; becomes true once its names are accepted, and stays true
NonStructuralSchema                    present only if a schema is not structural
KubernetesAPIApprovalPolicyConformant  present only for community groups: whether the CRD is approved
Terminating                            its objects are being deleted

`compute_status` is level-driven: called with its own result it changes nothing. The caller passes the time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from probate.api.crds import approval
from probate.api.crds.layout import Crd, schema_of, spec_of, versions_of
from probate.api.crds.name_acceptance import accept_names
from probate.api.structural.schema_check import is_structural

Condition = dict[str, Any]

ESTABLISHED, NAMES_ACCEPTED, TERMINATING = "Established", "NamesAccepted", "Terminating"
NON_STRUCTURAL, APPROVAL = "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def compute_status(crd: Crd, other_crds: Iterable[Crd], now: str) -> dict[str, Any]:
    """Returns the status that the CRD should have, given all CRDs. `now` is the transition time of conditions that change."""
    return compute_status_with_violations(crd, other_crds, now, violations=non_structural_condition(crd))


def compute_status_with_violations(
    crd: Crd, other_crds: Iterable[Crd], now: str, *, violations: Condition | None
) -> dict[str, Any]:
    """Returns the same for a known result of `non_structural_condition`, which takes long for a large schema."""
    status = copy.deepcopy(crd.get("status") or {})
    names = accept_names(crd, other_crds)
    status["acceptedNames"] = {"plural": "", "kind": "", **names.accepted}
    conditions = status["conditions"] = status.get("conditions") or []
    _set(conditions, _condition(NAMES_ACCEPTED, names.reason, names.message, is_met=names.are_accepted), now)
    _set(conditions, _established(crd, are_accepted=names.are_accepted), now)
    _set_or_remove(conditions, NON_STRUCTURAL, violations, now=now)
    _set_or_remove(conditions, APPROVAL, _approval(crd), now=now)
    return status


def find_condition(crd: Crd, kind: str) -> Condition | None:
    """Returns the condition of this type."""
    conditions = (crd.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def is_condition_true(crd: Crd, kind: str) -> bool:
    """Returns whether the condition exists and is true."""
    condition = find_condition(crd, kind)
    return condition is not None and condition.get("status") == "True"


def mark_terminating(status: dict[str, Any], *, reason: str, message: str, now: str) -> dict[str, Any]:
    """Returns the status of a CRD whose objects are to be deleted or are being deleted. The constants below are the reasons."""
    changed = copy.deepcopy(status)
    conditions = changed["conditions"] = changed.get("conditions") or []
    _set(conditions, _condition(TERMINATING, reason, message, is_met=reason not in _FINISHED_REASONS), now)
    return changed


DELETION_PENDING = "InstanceDeletionPending"
DELETION_IN_PROGRESS = "InstanceDeletionInProgress"
DELETION_FAILED = "InstanceDeletionFailed"
DELETION_COMPLETED = "InstanceDeletionCompleted"
NEVER_ESTABLISHED = "NeverEstablished"
_FINISHED_REASONS = frozenset({DELETION_COMPLETED, NEVER_ESTABLISHED})


def _condition(kind: str, reason: str, message: str, *, is_met: bool) -> Condition:
    return {"type": kind, "status": "True" if is_met else "False", "reason": reason, "message": message}


def _established(crd: Crd, *, are_accepted: bool) -> Condition:
    old = find_condition(crd, ESTABLISHED)
    if old is not None and old.get("status") == "True":
        return {field: value for field, value in old.items() if field != "lastTransitionTime"}
    if are_accepted:
        return _condition(ESTABLISHED, "InitialNamesAccepted", "the initial names have been accepted", is_met=True)
    return _condition(ESTABLISHED, "NotAccepted", "not all names are accepted", is_met=False)


def non_structural_condition(crd: Crd) -> Condition | None:
    """Returns the NonStructuralSchema condition, or None if all schemas are structural."""
    names = [
        version.get("name")
        for version in versions_of(crd)
        if schema_of(version) is not None and not is_structural(schema_of(version))
    ]
    if not names:
        return None
    return _condition(NON_STRUCTURAL, "Violations", f"not structural: the schemas of {', '.join(map(str, names))}", is_met=True)


def _approval(crd: Crd) -> Condition | None:
    if not approval.is_protected_group(spec_of(crd).get("group") or ""):
        return None
    reason, message = approval.approval_state(crd)
    return _condition(APPROVAL, reason, message, is_met=reason == approval.APPROVED)


def _set(conditions: list[Condition], desired: Condition, now: str) -> None:
    """Replaces or adds the condition. Its `lastTransitionTime` is that of its last change between true and false."""
    old = next((condition for condition in conditions if condition.get("type") == desired["type"]), None)
    if old is None:
        conditions.append({"lastTransitionTime": now, **desired})
        return
    if old.get("status") != desired["status"] or not old.get("lastTransitionTime"):
        old["lastTransitionTime"] = now
    old.update(desired)


def _set_or_remove(conditions: list[Condition], kind: str, desired: Condition | None, *, now: str) -> None:
    if desired is not None:
        _set(conditions, desired, now)
    else:
        conditions[:] = [condition for condition in conditions if condition.get("type") != kind]
