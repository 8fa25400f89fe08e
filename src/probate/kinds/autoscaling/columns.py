"""Horizontal pod autoscalers, for both versions that serve them (what is printed is the stored one, of v2), and scales.

{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}     cpu: 20%/80%
"""

from __future__ import annotations

from typing import Any

from probate.api.printing import ages, cell_text, object_fields
from probate.api.printing.columns import AGE, NAME, Object, Printer, integer, text

_MOST_METRICS = 2
_UNKNOWN = "<unknown>"
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _horizontal_pod_autoscaler(autoscaler: Object, now: float) -> list[Any]:
    reference = object_fields.mapping(autoscaler, "spec", "scaleTargetRef")
    return [
        object_fields.name(autoscaler),
        f"{object_fields.text(reference, 'kind')}/{object_fields.text(reference, 'name')}",
        _targets(autoscaler),
        object_fields.scalar(autoscaler, "spec", "minReplicas", default=cell_text.UNSET),
        object_fields.number(autoscaler, "spec", "maxReplicas"),
        object_fields.number(autoscaler, "status", "currentReplicas"),
        ages.of(autoscaler, now),
    ]


def _targets(autoscaler: Object) -> str:
    metrics, current = (
        object_fields.objects(autoscaler, "spec", "metrics"),
        object_fields.objects(autoscaler, "status", "currentMetrics"),
    )
    shown = [_metric(one, current[index] if index < len(current) else {}) for index, one in enumerate(metrics)]
    return cell_text.cut(shown, limit=_MOST_METRICS, separator=", ") or cell_text.NONE


def _metric(metric: Object, current: Object) -> str:
    field = _SOURCES.get(object_fields.text(metric, "type"))
    if field is None:
        return "<unknown type>"
    asked = object_fields.mapping(metric, field)
    told = current.get(field)
    if field in {"external", "object"}:
        return _valued(asked, told)
    if field == "pods":
        return f"{_current(told, 'averageValue')}/{_target(asked, 'averageValue')}"
    return f"{object_fields.text(asked, 'name')}: {_resource(asked, told)}"


def _valued(asked: Object, told: Any) -> str:
    average = _target(asked, "averageValue")
    if average is not None:
        return f"{_current(told, 'averageValue')}/{average} (avg)"
    return f"{_current(told, 'value')}/{_target(asked, 'value')}"


def _resource(asked: Object, told: Any) -> str:
    average = _target(asked, "averageValue")
    if average is not None:
        return f"{_current(told, 'averageValue')}/{average}"
    target, current = _target(asked, "averageUtilization"), _current(told, "averageUtilization")
    return f"{current if current == _UNKNOWN else current + '%'}/{'<auto>' if target is None else target + '%'}"


def _target(asked: Object, what: str) -> str | None:
    return object_fields.scalar(asked, "target", what, default="") or None


def _current(told: Any, what: str) -> str:
    return object_fields.scalar(told, "current", what, default="") or _UNKNOWN


def _scale(scale: Object, now: float) -> list[Any]:
    desired, there = object_fields.number(scale, "spec", "replicas"), object_fields.number(scale, "status", "replicas")
    return [object_fields.name(scale), desired, there, ages.of(scale, now)]


PRINTERS = {
    ("autoscaling", "horizontalpodautoscalers"): Printer(
        (
            NAME,
            text("Reference", "What is scaled."),
            text("Targets", "For each metric: what it is, and what it should be."),
            text("MinPods", "The fewest replicas it may come to."),
            text("MaxPods", "The most replicas it may come to."),
            text("Replicas", "How many replicas there are."),
            AGE,
        ),
        _horizontal_pod_autoscaler,
    ),
    # No resource of its own: what `kubectl get --subresource=scale` shows.
    ("autoscaling", "scales"): Printer(
        (
            text("Name", NAME.description),
            integer("Desired", "How many replicas there should be."),
            integer("Available", "How many replicas there are."),
            AGE,
        ),
        _scale,
    ),
}
