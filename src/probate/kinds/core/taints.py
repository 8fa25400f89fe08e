"""Matches taints of nodes with tolerations of pods.

A toleration without a key tolerates every taint; one without an effect tolerates all effects. `Equal` (the default operator)
requires the same value, `Exists` requires none, `Lt` and `Gt` compare the taint's value with the toleration's as integers.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object
from probate.api.selectors.requirements import parse_int64

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"


def taints_of(node: Object, *effects: str) -> list[Object]:
    """Returns the node's taints with one of these effects."""
    return [one for one in (node.get("spec") or {}).get("taints") or () if one["effect"] in effects]


def tolerates(toleration: Object, taint: Object) -> bool:
    """Reports whether the toleration tolerates the taint."""
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


def first_tolerating(tolerations: Iterable[Object], taint: Object) -> Object | None:
    """Returns the first toleration that tolerates the taint."""
    return next((one for one in tolerations if tolerates(one, taint)), None)


def first_untolerated(pod: Object, taints: Iterable[Object]) -> Object | None:
    """Returns the first taint that the pod does not tolerate."""
    tolerations = (pod.get("spec") or {}).get("tolerations") or []
    return next((taint for taint in taints if first_tolerating(tolerations, taint) is None), None)


def merge_tolerations(tolerations: list[Object]) -> list[Object]:
    """Returns the tolerations without those that another one covers. Of two equal ones the first stays."""
    kept: list[Object] = []
    for index, one in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != one)
        if not any(covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def covers(wide: Object, narrow: Object) -> bool:
    """Reports whether the wide toleration tolerates everything that the narrow one does, for at least as long."""
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
    ours, others = parse_int64(value), parse_int64(theirs)
    if ours is None or others is None:
        return False
    return others < ours if operator == "Lt" else others > ours
