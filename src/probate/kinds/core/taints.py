"""Taints of nodes, and which of them a pod tolerates.

A toleration without a key tolerates every taint, one without an effect all effects. `Equal` (which is meant when nothing is said)
wants the same value, `Exists` wants none, `Lt` and `Gt` compare the taint's value with theirs as whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from probate.api.selectors.requirements import whole_number

Object = dict[str, Any]

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"


def taints_of(node: Object, *effects: str) -> list[Object]:
    """The node's taints of these effects."""
    return [one for one in (node.get("spec") or {}).get("taints") or () if one["effect"] in effects]


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether the toleration is for the taint."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    value, theirs = toleration.get("value") or "", taint.get("value") or ""
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool(value == theirs)
        case operator:
            return _compares(operator, value, theirs)


def tolerated_by(tolerations: Iterable[Object], taint: Object) -> Object | None:
    """The first of the tolerations that is for the taint."""
    return next((one for one in tolerations if tolerates(one, taint)), None)


def untolerated(pod: Object, taints: Iterable[Object]) -> Object | None:
    """The first of the taints that the pod does not tolerate."""
    tolerations = (pod.get("spec") or {}).get("tolerations") or []
    return next((taint for taint in taints if tolerated_by(tolerations, taint) is None), None)


def merged(tolerations: list[Object]) -> list[Object]:
    """The tolerations less those that another one covers. Of two that are the same the first stays."""
    kept: list[Object] = []
    for index, one in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != one)
        if not any(covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def covers(wide: Object, narrow: Object) -> bool:
    """Whether whatever the narrow one tolerates, for as long, the wide one does too."""
    if wide == narrow:
        return True
    operator = wide.get("operator") or "Equal"
    if narrow.get("key") != wide.get("key") and (wide.get("key") or operator != "Exists"):
        return False
    if wide.get("effect") and wide["effect"] != narrow.get("effect"):
        return False
    if wide.get("effect") == NO_EXECUTE and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if operator == "Exists":
        return True
    is_plain = operator == "Equal" and (narrow.get("operator") or "Equal") == "Equal"
    return is_plain and (wide.get("value") or "") == (narrow.get("value") or "")


def _compares(operator: str, value: str, theirs: str) -> bool:
    ours, others = whole_number(value), whole_number(theirs)
    if ours is None or others is None:
        return False
    return others < ours if operator == "Lt" else others > ours
