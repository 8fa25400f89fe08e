"""What a ResourceQuota counts, and whether a change still fits into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from probate.kinds.core.pods import resource_totals
from probate.kinds.core.quota import quantity_sums, usage
from probate.kinds.core.quota.quantity_sums import ZERO, Amounts
from probate.kinds.core.quota.usage import Counted, Facts

Object = dict[str, Any]

_MUST_BE_SAID = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_OF_PODS = frozenset({"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"})


class Scope(NamedTuple):
    """One requirement of a quota's scopes."""

    name: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()


class Quota(NamedTuple):
    """A ResourceQuota, as it was compiled."""

    key: str
    name: str
    hard: Amounts
    scopes: tuple[Scope, ...]
    resources: frozenset[str]  # whose objects it counts


def compiled(key: str, quota: Object) -> Quota:
    """The quota that this object says."""
    spec = quota.get("spec") or {}
    hard = quantity_sums.read(spec.get("hard"))
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    scopes = [Scope(name) for name in spec.get("scopes") or ()]
    scopes += [Scope(one["scopeName"], one["operator"], frozenset(one.get("values") or ())) for one in selected]
    return Quota(key, quota["metadata"]["name"], hard, tuple(scopes), frozenset(usage.counted_together(hard)))


def counts(quota: Quota, one: Counted) -> bool:
    """Whether the object is among those that the quota is about."""
    return one.resource in quota.resources and all(_is_in(scope, one) for scope in quota.scopes)


def share(quota: Quota, used: Amounts) -> Amounts:
    """What of this the quota counts."""
    return {name: value for name, value in used.items() if name in quota.hard}


def _is_in(scope: Scope, one: Counted) -> bool:
    if scope.name == "VolumeAttributesClass":
        return one.resource == usage.CLAIMS and _names_one(scope, one.facts.attribute_classes)
    if one.resource != usage.PODS or scope.name not in _OF_PODS:
        return False
    if scope.name == "PriorityClass":
        return _names_one(scope, frozenset({one.facts.priority_class} - {""}))
    return _FACTS[scope.name](one.facts)


_FACTS: dict[str, Callable[[Facts], bool]] = {
    "Terminating": lambda facts: facts.is_terminating,
    "NotTerminating": lambda facts: not facts.is_terminating,
    "BestEffort": lambda facts: facts.is_best_effort,
    "NotBestEffort": lambda facts: not facts.is_best_effort,
    "CrossNamespacePodAffinity": lambda facts: facts.is_crossing,
}


def _names_one(scope: Scope, names: frozenset[str]) -> bool:
    if scope.operator == "Exists":
        return bool(names)
    if scope.operator == "DoesNotExist":
        return not names
    return bool(names & scope.values) if scope.operator == "In" else not names & scope.values


def missing(quota: Quota, pod: Object) -> str:
    """What containers have to say for the quota to count them, as a message; empty if they say all."""
    asked = _MUST_BE_SAID & quota.hard.keys()
    spec = pod.get("spec") or {}
    whole = resource_totals.computed(
        *(quantity_sums.read((spec.get("resources") or {}).get(which)) for which in ("requests", "limits"))
    )
    lacking: dict[str, set[str]] = {}
    for container in resource_totals.containers(spec):
        given = container.get("resources") or {}
        said = resource_totals.computed(quantity_sums.read(given.get("requests")), quantity_sums.read(given.get("limits")))
        for name in asked - said.keys() - whole.keys():
            lacking.setdefault(name, set()).add(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def exceeded(quota: Quota, used: Amounts, more: Amounts) -> str:
    """Why this much more is too much, as a message; empty if it is not."""
    asked = {name: value for name, value in share(quota, more).items() if value.size}
    over = [
        name for name, value in asked.items() if value.size > 0 and used.get(name, ZERO).size + value.size > quota.hard[name].size
    ]
    if not over:
        return ""
    parts = (asked, {name: used.get(name, ZERO) for name in over}, quota.hard)
    requested, had, limited = (quantity_sums.told({name: part[name] for name in over}) for part in parts)
    return f"exceeded quota: {quota.name}, requested: {requested}, used: {had}, limited: {limited}"


def status(quota: Quota, used: Amounts) -> Object:
    """The status of the quota."""
    hard = {name: str(quota.hard[name]) for name in sorted(quota.hard)}
    return {"hard": hard, "used": {name: str(used.get(name, ZERO)) for name in sorted(quota.hard)}}


def increase(new: Counted, old: Counted | None) -> Amounts:
    """How much more is used."""
    return new.usage if old is None else quantity_sums.less(new.usage, old.usage)


def about(quotas: Iterable[Quota], one: Counted) -> list[Quota]:
    """The quotas that count the object."""
    return [quota for quota in quotas if counts(quota, one)]
