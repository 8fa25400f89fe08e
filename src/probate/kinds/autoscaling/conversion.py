"""Converts HorizontalPodAutoscalers: v1 has a field for CPU only, and keeps everything else of v2 as JSON in annotations.

    v2   spec: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}
    v1   spec: {targetCPUUtilizationPercentage: 80}

So an object that is read in v1 and written back in v1 loses nothing. In v2 the annotations are never visible. An invalid annotation
is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from probate.api import quantities
from probate.api.objects import Object
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.core import errors
from probate.kinds.autoscaling import metric_conversion
from probate.kinds.builtin import catalog

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _CURRENT_METRICS = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_CONDITIONS, _BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ALL = (_METRICS, _CURRENT_METRICS, _CONDITIONS, _BEHAVIOR)
_TARGET, _CURRENT = "targetCPUUtilizationPercentage", "currentCPUUtilizationPercentage"

# The behavior is written with the names of the Go fields, all of them, and read with case-insensitive names.
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY = ("type", "value", "periodSeconds")
_BEHAVIOR_NAMES = {name.lower(): name for name in ("scaleUp", "scaleDown", *_RULES, *_POLICY)}


def to_v2(autoscaler: Object) -> Object:
    """Returns an autoscaler of v1 as one of v2."""
    given = autoscaler.get("metadata", {}).get("annotations") or {}
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    target, current = spec.pop(_TARGET, None), status.pop(_CURRENT, None)
    by_cpu = [] if target is None else [_cpu("target", {"type": "Utilization", "averageUtilization": target})]
    measured = [] if current is None else [_cpu("current", {"averageUtilization": current})]
    _put(spec, "metrics", [*(_read(given, _METRICS, metric_conversion.newer_specs, "spec", "metrics") or ()), *by_cpu])
    _put(spec, "behavior", _read(given, _BEHAVIOR, _newer_behavior, "spec", "behavior"))
    _put(
        status,
        "currentMetrics",
        _read(given, _CURRENT_METRICS, metric_conversion.newer_statuses, "status", "currentMetrics") or measured,
    )
    _put(status, "conditions", _read(given, _CONDITIONS, _same, "status", "conditions"))
    return {**autoscaler, "metadata": without_annotations(autoscaler.get("metadata") or {}), "spec": spec, "status": status}


def from_v2(autoscaler: Object) -> Object:
    """Returns an autoscaler of v2 as one of v1."""
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    wanted, behavior = spec.pop("metrics", None) or [], spec.pop("behavior", None)
    measured, conditions = status.pop("currentMetrics", None) or [], status.pop("conditions", None) or []
    _put(spec, _TARGET, next((_utilization(one, "target") for one in wanted if _is_cpu(one)), None))
    _put(status, _CURRENT, next((_utilization(one, "current") for one in measured if _is_cpu(one)), None))
    others = [one for one in wanted if not _is_cpu(one) or _utilization(one, "target") is None]
    notes: dict[str, Any] = {
        _METRICS: metric_conversion.older_specs(others),
        _CURRENT_METRICS: metric_conversion.older_statuses(measured),
        _CONDITIONS: conditions,
        _BEHAVIOR: behavior and _older_behavior(behavior),
    }
    meta = without_annotations(autoscaler["metadata"])
    written = {name: orjson.dumps(value).decode() for name, value in notes.items() if value}
    if written:
        meta["annotations"] = {**meta.get("annotations", {}), **written}
    return {**autoscaler, "metadata": meta, "spec": spec, "status": status}


def without_annotations(meta: Object) -> Object:
    """Returns the metadata without the annotations of v1."""
    kept = {name: value for name, value in (meta.get("annotations") or {}).items() if name not in _ALL}
    rest = {name: value for name, value in meta.items() if name != "annotations"}
    return {**rest, "annotations": kept} if kept else rest


def _cpu(measured: str, value: Object) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", measured: value}}


def _is_cpu(metric: Object) -> bool:
    return metric.get("type") == "Resource" and (metric.get("resource") or {}).get("name") == "cpu"


def _utilization(metric: Object, measured: str) -> int | None:
    found: int | None = (metric["resource"].get(measured) or {}).get("averageUtilization")
    return found


def _put(parent: Object, name: str, value: Any) -> None:
    if value not in (None, [], {}):
        parent[name] = value


def _read(annotations: Object, name: str, newer: Callable[[Any], Any], *place: str) -> Any:
    """Returns the value of the annotation in the form of v2 at this place; None if it is absent or invalid."""
    schema = catalog.schema("autoscaling", "v2", "HorizontalPodAutoscaler") or Schema()
    for part in place:
        schema = schema.properties[part]
    try:
        value = orjson.loads(annotations.get(name, "null"))
        return typed.Reader(_quantity).read(newer(value), schema) if _fits(value, schema) else None
    except (orjson.JSONDecodeError, errors.BadRequest):
        return None


def _fits(value: Any, schema: Schema) -> bool:
    if schema.type == "array":
        return isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return isinstance(value, dict)


def _quantity(value: str | float) -> str | None:
    return quantities.canonical(value) if quantities.is_quantity(value) else None


def _same(conditions: Any) -> Any:
    return conditions


def _older_behavior(behavior: Object) -> Object:
    return {f"Scale{side}": _older_rules(behavior.get(f"scale{side}")) for side in ("Up", "Down")}


def _older_rules(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    made = {_capital(name): rules.get(name) for name in _RULES}
    made["Policies"] = [{_capital(name): one.get(name) for name in _POLICY} for one in rules.get("policies") or []]
    return made


def _newer_behavior(value: Any) -> Any:
    if isinstance(value, dict):
        return {_BEHAVIOR_NAMES.get(name.lower(), name): _newer_behavior(inner) for name, inner in value.items()}
    return [_newer_behavior(inner) for inner in value] if isinstance(value, list) else value


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]
