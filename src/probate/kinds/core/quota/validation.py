"""Validates ResourceQuotas and LimitRanges."""

from __future__ import annotations

from typing import Any

from probate.api import names, quantities
from probate.api.field_errors import FieldPath, forbidden, invalid, required
from probate.kinds.core.pods.validation.container_resources import (
    COUNTED,
    check_amount,
    check_container_resource,
    check_resource,
    may_overcommit,
)
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_rule,
    check_unchanged,
    check_unique,
    child,
    each,
    objects,
    text,
    texts,
)

_SPEC = FieldPath("spec")
_ORDER = (  # the lower field, the upper one, and which of them is reported
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_MEASURED = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
    }
)
_OF_PODS = frozenset({"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_SCOPES = {  # the standard resources that each scope can be applied to
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXCLUSIVE = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_WITHOUT_VALUES = _SCOPES.keys() - {"PriorityClass", "VolumeAttributesClass"}
_LIMITED = ("Pod", "Container", "PersistentVolumeClaim")
_SCOPE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_MISAPPLIED = "unsupported scope applied to resource"
_HUGE = ("hugepages-", "requests.hugepages-", "limits.hugepages-")


def check_quota(quota: Value) -> Problems:
    """Validates a ResourceQuota."""
    spec = child(quota, "spec")
    for name, amount in child(spec, "hard").items():
        at = _SPEC / "hard" @ name
        yield from _check_quota_name(name, at)
        yield from check_amount(name, amount, at)
    yield from _check_scopes(spec)
    yield from _check_scope_selector(spec)


def check_quota_status(new: Value, old: Value) -> Problems:
    """Validates the status of a ResourceQuota: hard limits and usage."""
    for field in ("hard", "used"):
        for name, amount in child(child(new, "status"), field).items():
            at = FieldPath("status") / field @ name
            yield from _check_quota_name(name, at)
            yield from check_amount(name, amount, at)


def check_limit_range(range_: Value) -> Problems:
    """Validates a LimitRange."""
    seen: set[Any] = set()
    for limit, at in each(child(range_, "spec"), _SPEC, "limits"):
        kind = text(limit, "type")
        yield from check_rule(kind, at / "type", names.validate_qualified_name)
        if "/" not in kind and kind not in _LIMITED:
            yield invalid(at / "type", kind, "must be a standard limit type or fully qualified")
        yield from check_unique(limit, at, "type", seen=seen)
        yield from _check_resources(limit, at, kind)
        if kind == "Pod":
            yield from _check_no_defaults(limit, at)
        elif kind == "PersistentVolumeClaim":
            yield from _check_claim_limit(limit, at)
        for resource in sorted({key for field in _FIELDS for key in child(limit, field)}):
            yield from _check_order(limit, at, resource)
            yield from _check_ratio(limit, at, resource)
            yield from _check_same_default(limit, at, resource)


def update_quota(new: Value, old: Value) -> Problems:
    """Validates that the scopes of a quota do not change."""
    one, other = (sorted(texts(child(quota, "spec"), "scopes")) for quota in (new, old))
    yield from check_unchanged(one, other, _SPEC / "scopes")


def _check_quota_name(name: str, path: FieldPath) -> Problems:
    yield from check_rule(name, path, names.validate_qualified_name)
    if "/" not in name and not _is_standard(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def _check_scopes(spec: Value) -> Problems:
    scopes, path = texts(spec, "scopes"), _SPEC / "scopes"
    standard = {name for name in child(spec, "hard") if _is_standard(name)}
    yield from (invalid(path, scopes, "unsupported scope") for scope in scopes if scope not in _SCOPES)
    yield from (invalid(path, scopes, _MISAPPLIED) for scope in scopes if not standard <= _SCOPES.get(scope, standard))
    yield from (invalid(path, scopes, "conflicting scopes") for pair in _EXCLUSIVE if pair <= set(scopes))


def _check_scope_selector(spec: Value) -> Problems:
    path = _SPEC / "scopeSelector" / "matchExpressions"
    standard = {name for name in child(spec, "hard") if _is_standard(name)}
    scopes = {text(one, "scopeName") for one in objects(child(spec, "scopeSelector"), "matchExpressions")}
    yield from (invalid(path, sorted(scopes), "conflicting scopes") for pair in _EXCLUSIVE if pair <= scopes)
    for expression in objects(child(spec, "scopeSelector"), "matchExpressions"):
        yield from _check_scope_expression(expression, path)
        if not standard <= _SCOPES.get(text(expression, "scopeName"), standard):
            yield invalid(path, expression, _MISAPPLIED)


def _is_standard(name: str) -> bool:
    """Reports whether the resource is a standard one, whose scopes are known. (Those of `count/…` are not.)"""
    return name in COUNTED or name in _MEASURED or name.startswith(_HUGE)


def _check_scope_expression(expression: Value, path: FieldPath) -> Problems:
    operator, values = text(expression, "operator"), texts(expression, "values")
    if text(expression, "scopeName") not in _SCOPES:
        yield invalid(path / "scopeName", text(expression, "scopeName"), "unsupported scope")
    if text(expression, "scopeName") in _WITHOUT_VALUES and operator != "Exists":
        yield invalid(path / "operator", operator, f"must be 'Exists' when scope is any of {', '.join(sorted(_WITHOUT_VALUES))}")
    if operator in {"In", "NotIn"} and not values:
        yield required(path / "values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
    elif operator in {"Exists", "DoesNotExist"} and values:
        yield invalid(path / "values", values, "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector")
    elif operator not in _SCOPE_OPERATORS:
        yield invalid(path / "operator", operator, "not a valid selector operator")


def _check_resources(limit: Value, path: FieldPath, kind: str) -> Problems:
    """Validates resource names; Pods and containers can have fewer."""
    check = check_container_resource if kind in {"Pod", "Container"} else check_resource
    for field in _FIELDS:
        if kind != "Pod" or not field.startswith("default"):
            for name in child(limit, field):
                yield from check(name, path / field @ name)


def _check_same_default(limit: Value, path: FieldPath, resource: str) -> Problems:
    """Validates that default requests and limits are equal for resources that cannot be overcommitted."""
    default, request = child(limit, "default").get(resource), child(limit, "defaultRequest").get(resource)
    if default is None or request is None or may_overcommit(resource):
        return
    if quantities.value_or_zero(default) != quantities.value_or_zero(request):
        detail = f"default value {default} must equal to defaultRequest value {request} in {resource}"
        yield invalid(path / "defaultRequest" @ resource, request, detail)


def _check_no_defaults(limit: Value, path: FieldPath) -> Problems:
    for field in ("default", "defaultRequest"):
        if child(limit, field):
            yield forbidden(path / field, "may not be specified when `type` is 'Pod'")


def _check_claim_limit(limit: Value, path: FieldPath) -> Problems:
    if "storage" not in child(limit, "min") and "storage" not in child(limit, "max"):
        yield required(path / "limits", "either minimum or maximum storage value is required, but neither was provided")


def _check_order(limit: Value, path: FieldPath, resource: str) -> Problems:
    """Validates min <= defaultRequest <= default <= max, for those that are set."""
    for lower, upper, reported in _ORDER:
        low, high = child(limit, lower).get(resource), child(limit, upper).get(resource)
        if low is not None and high is not None and quantities.value_or_zero(low) > quantities.value_or_zero(high):
            value = child(limit, reported)[resource]
            yield invalid(path / reported @ resource, value, f"{lower} value {low} is greater than {upper} value {high}")


def _check_ratio(limit: Value, path: FieldPath, resource: str) -> Problems:
    ratio = child(limit, "maxLimitRequestRatio").get(resource)
    if ratio is None:
        return
    if quantities.value_or_zero(ratio) < 1:
        yield invalid(path / "maxLimitRequestRatio" @ resource, ratio, "ratio is less than 1")
    low, high = (quantities.value_or_zero(child(limit, field).get(resource)) for field in ("min", "max"))
    if low > 0 and high > 0 and quantities.value_or_zero(ratio) > high / low:
        yield invalid(path / "maxLimitRequestRatio" @ resource, ratio, "ratio is greater than max/min")
