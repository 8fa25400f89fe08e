"""Validates HorizontalPodAutoscalers in the stored version: problems of v1 objects are also reported with the paths of v2."""

from __future__ import annotations

from collections.abc import Callable

from probate.api import names, quantities
from probate.api.field_errors import FieldPath, forbidden, invalid, required
from probate.api.gvk import GroupVersion
from probate.kinds.core.pods.validation.container_resources import check_container_resource
from probate.kinds.shared.field_checks import (
    NEGATIVE,
    Problems,
    Value,
    check_between,
    check_choice,
    check_name,
    check_optional_name,
    child,
    each,
    items,
    text,
)

_SPEC = FieldPath("spec")
_METRICS = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_MAX_WINDOW_SECONDS = 3600
_MAX_PERIOD_SECONDS = 1800


def check_autoscaler(autoscaler: Value) -> Problems:
    """Validates an autoscaler."""
    spec = child(autoscaler, "spec")
    yield from _check_bounds(spec)
    for metric, at in each(spec, _SPEC, "metrics"):
        yield from _check_metric(metric, at)
    behavior = child(spec, "behavior")
    for side in ("scaleUp", "scaleDown"):
        if behavior.get(side) is not None:
            yield from _check_rules(behavior[side], _SPEC / "behavior" / side)


def _check_bounds(spec: Value) -> Problems:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        yield invalid(_SPEC / "minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        yield required(_SPEC / "maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid(_SPEC / "maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        yield invalid(_SPEC / "maxReplicas", most, "must be greater than or equal to `minReplicas`")
    reference, path = child(spec, "scaleTargetRef"), _SPEC / "scaleTargetRef"
    yield from check_name(reference, path, "kind", rule=names.validate_path_segment)
    yield from check_name(reference, path, "name", rule=names.validate_path_segment)
    # ReplicationControllers are the only kind of the core group that can be scaled.
    yield from _check_api_version(
        reference, path / "apiVersion", is_group_needed=text(reference, "kind") != "ReplicationController"
    )


def _check_api_version(reference: Value, path: FieldPath, *, is_group_needed: bool) -> Problems:
    value = text(reference, "apiVersion")
    if value.count("/") > 1:
        yield invalid(path, value, "must be a group and a version joined by '/'")
    elif is_group_needed and not GroupVersion.parse(value).group:
        yield invalid(path, value, "apiVersion must specify API group")


def _check_metric(metric: Value, path: FieldPath) -> Problems:
    """Validates a metric: the first source that is set, regardless of the type. More than one is a problem."""
    yield from check_choice(metric, path, "type", supported=_METRICS, is_required=True)
    given = [field for field in _SOURCES if metric.get(field) is not None]
    expected = _METRICS.get(text(metric, "type"))
    for field in given[:1]:
        yield from _SOURCES[field](metric[field], path / field)
    if expected is not None and expected not in given:
        yield required(path / expected, "must populate information for the given metric source")
    for field in given if len(given) > 1 else ():
        if field != expected:
            yield forbidden(path / field, "must populate the given metric source only")


def _check_resource(source: Value, path: FieldPath) -> Problems:
    if not text(source, "name"):
        yield required(path / "name", "must specify a resource name")
    target = child(source, "target")
    yield from _check_target(target, path / "target")
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        yield required(path / "target" / "averageUtilization", "must set either a target raw value or a target utilization")
    elif utilization is not None and average is not None:
        yield forbidden(path / "target" / "averageValue", "may not set both a target raw value and a target utilization")


def _check_container_resource(source: Value, path: FieldPath) -> Problems:
    if not text(source, "container"):
        yield required(path / "container", "must specify a container")
    yield from check_optional_name(source, path, "container", rule=names.validate_dns_label)
    if text(source, "name"):
        yield from check_container_resource(text(source, "name"), path / "name")
    yield from _check_resource(source, path)


def _check_pods(source: Value, path: FieldPath) -> Problems:
    yield from check_name(child(source, "metric"), path / "metric", "name", rule=names.validate_path_segment)
    yield from _check_target(child(source, "target"), path / "target")
    if quantities.value_or_zero(child(source, "target").get("averageValue")) <= 0:
        yield required(path / "target" / "averageValue", "must specify a positive target averageValue")


def _check_object(source: Value, path: FieldPath) -> Problems:
    described = child(source, "describedObject")
    yield from check_name(described, path / "describedObject", "kind", rule=names.validate_path_segment)
    yield from check_name(described, path / "describedObject", "name", rule=names.validate_path_segment)
    yield from check_name(child(source, "metric"), path / "metric", "name", rule=names.validate_path_segment)
    yield from _check_any_value(child(source, "target"), path / "target")


def _check_external(source: Value, path: FieldPath) -> Problems:
    yield from check_name(child(source, "metric"), path / "metric", "name", rule=names.validate_path_segment)
    target = child(source, "target")
    yield from _check_any_value(target, path / "target")
    if target.get("value") is not None and target.get("averageValue") is not None:
        yield forbidden(path / "target" / "value", "may not set both a target value for metric and a per-pod target")


def _check_any_value(target: Value, path: FieldPath) -> Problems:
    yield from _check_target(target, path)
    if target.get("value") is None and target.get("averageValue") is None:
        yield required(path / "averageValue", "must set either a target value for metric or a per-pod target")


def _check_target(target: Value, path: FieldPath) -> Problems:
    if not text(target, "type"):
        yield required(path / "type", "must specify a metric target type")
    elif text(target, "type") not in {"Utilization", "Value", "AverageValue"}:
        yield invalid(path / "type", text(target, "type"), "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if target.get(field) is not None and quantities.value_or_zero(target[field]) <= 0:
            yield invalid(path / field, target[field], "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(path / "averageUtilization", utilization, "must be greater than 0")


def _check_rules(rules: Value, path: FieldPath) -> Problems:
    yield from check_between(rules, path, "stabilizationWindowSeconds", low=0, high=_MAX_WINDOW_SECONDS)
    yield from check_choice(rules, path, "selectPolicy", supported=("Max", "Min", "Disabled"))
    if rules.get("tolerance") is not None and quantities.value_or_zero(rules["tolerance"]) < 0:
        yield invalid(path / "tolerance", rules["tolerance"], NEGATIVE)
    if rules.get("policies") is not None and not items(rules, "policies"):
        yield required(path / "policies", "must specify at least one Policy")
    for policy, at in each(rules, path, "policies"):
        yield from check_choice(policy, at, "type", supported=("Pods", "Percent"), is_required=True)
        if (policy.get("value") or 0) <= 0:
            yield invalid(at / "value", policy.get("value") or 0, "must be greater than zero")
        period = policy.get("periodSeconds") or 0
        if not 0 < period <= _MAX_PERIOD_SECONDS:
            yield invalid(at / "periodSeconds", period, f"must be greater than zero and at most {_MAX_PERIOD_SECONDS}")


_SOURCES: dict[str, Callable[[Value, FieldPath], Problems]] = {  # in the order in which they are checked
    "object": _check_object,
    "external": _check_external,
    "pods": _check_pods,
    "resource": _check_resource,
    "containerResource": _check_container_resource,
}
