"""Decides what a ResourceQuota counts, and whether a change fits into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.kinds.core.pods import resource_totals
from probate.kinds.core.quota import usage
from probate.kinds.core.quota.usage import ObjectUsage, ScopeFacts
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import ZERO, Amounts

_REQUIRED_AMOUNTS = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_OF_PODS = frozenset({"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"})


class Scope(NamedTuple):
    """One requirement of a quota's scopes."""

    name: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()


class Quota(NamedTuple):
    """A ResourceQuota in compiled form."""

    key: str
    name: str
    hard: Amounts
    scopes: tuple[Scope, ...]
    resources: frozenset[str]  # the resources whose objects it counts


def compile_quota(key: str, quota: Object) -> Quota:
    """Compiles a ResourceQuota object."""
    spec = quota.get("spec") or {}
    hard = quantity_sums.read(spec.get("hard"))
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    scopes = [Scope(name) for name in spec.get("scopes") or ()]
    scopes += [Scope(one["scopeName"], one["operator"], frozenset(one.get("values") or ())) for one in selected]
    return Quota(key, quota["metadata"]["name"], hard, tuple(scopes), frozenset(usage.counted_resources(hard)))


def matches_quota(quota: Quota, one: ObjectUsage) -> bool:
    """Reports whether the object is in the scope of the quota."""
    return one.resource in quota.resources and all(_is_in_scope(scope, one) for scope in quota.scopes)


def counted_amounts(quota: Quota, used: Amounts) -> Amounts:
    """Returns the part of the usage that the quota counts."""
    return {name: value for name, value in used.items() if name in quota.hard}


def _is_in_scope(scope: Scope, one: ObjectUsage) -> bool:
    if scope.name == "VolumeAttributesClass":
        return one.resource == usage.CLAIMS and _matches_names(scope, one.facts.attribute_classes)
    if one.resource != usage.PODS or scope.name not in _OF_PODS:
        return False
    if scope.name == "PriorityClass":
        return _matches_names(scope, frozenset({one.facts.priority_class} - {""}))
    return _FACTS[scope.name](one.facts)


_FACTS: dict[str, Callable[[ScopeFacts], bool]] = {
    "Terminating": lambda facts: facts.is_terminating,
    "NotTerminating": lambda facts: not facts.is_terminating,
    "BestEffort": lambda facts: facts.is_best_effort,
    "NotBestEffort": lambda facts: not facts.is_best_effort,
    "CrossNamespacePodAffinity": lambda facts: facts.is_crossing,
}


def _matches_names(scope: Scope, names: frozenset[str]) -> bool:
    if scope.operator == "Exists":
        return bool(names)
    if scope.operator == "DoesNotExist":
        return not names
    return bool(names & scope.values) if scope.operator == "In" else not names & scope.values


def missing_amounts_message(quota: Quota, pod: Object) -> str:
    """Returns a message about the requests and limits that the quota requires but containers lack; empty if they have all."""
    required = _REQUIRED_AMOUNTS & quota.hard.keys()
    spec = pod.get("spec") or {}
    whole = resource_totals.quota_amounts(
        *(quantity_sums.read((spec.get("resources") or {}).get(which)) for which in ("requests", "limits"))
    )
    lacking: dict[str, set[str]] = {}
    for container in resource_totals.containers(spec):
        given = container.get("resources") or {}
        amounts = resource_totals.quota_amounts(quantity_sums.read(given.get("requests")), quantity_sums.read(given.get("limits")))
        for name in required - amounts.keys() - whole.keys():
            lacking.setdefault(name, set()).add(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def exceeded_message(quota: Quota, used: Amounts, delta: Amounts) -> str:
    """Returns a message about the resources whose increase exceeds the quota; empty if it fits."""
    increased = {name: value for name, value in counted_amounts(quota, delta).items() if value.size}
    over = [
        name
        for name, value in increased.items()
        if value.size > 0 and used.get(name, ZERO).size + value.size > quota.hard[name].size
    ]
    if not over:
        return ""
    parts = (increased, {name: used.get(name, ZERO) for name in over}, quota.hard)
    requested, had, limited = (quantity_sums.format_amounts({name: part[name] for name in over}) for part in parts)
    return f"exceeded quota: {quota.name}, requested: {requested}, used: {had}, limited: {limited}"


def status(quota: Quota, used: Amounts) -> Object:
    """Returns the status of the quota."""
    hard = {name: str(quota.hard[name]) for name in sorted(quota.hard)}
    return {"hard": hard, "used": {name: str(used.get(name, ZERO)) for name in sorted(quota.hard)}}


def matching_quotas(quotas: Iterable[Quota], one: ObjectUsage) -> list[Quota]:
    """Returns the quotas that count the object."""
    return [quota for quota in quotas if matches_quota(quota, one)]
