"""Table columns of HorizontalPodAutoscalers and Scales.

Both versions show the stored object, which is that of v2.

    {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}     cpu: 20%/80%
"""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, integer, text

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
        ages.object_age(autoscaler, now),
    ]


def _targets(autoscaler: Object) -> str:
    metrics, current = (
        object_fields.objects(autoscaler, "spec", "metrics"),
        object_fields.objects(autoscaler, "status", "currentMetrics"),
    )
    shown = [_metric(one, current[index] if index < len(current) else {}) for index, one in enumerate(metrics)]
    return cell_text.truncate_list(shown, limit=_MOST_METRICS, separator=", ") or cell_text.NONE


def _metric(metric: Object, current: Object) -> str:
    field = _SOURCES.get(object_fields.text(metric, "type"))
    if field is None:
        return "<unknown type>"
    desired = object_fields.mapping(metric, field)
    observed = current.get(field)
    if field in {"external", "object"}:
        return _value_target(desired, observed)
    if field == "pods":
        return f"{_current(observed, 'averageValue')}/{_target(desired, 'averageValue')}"
    return f"{object_fields.text(desired, 'name')}: {_resource(desired, observed)}"


def _value_target(desired: Object, observed: Any) -> str:
    average = _target(desired, "averageValue")
    if average is not None:
        return f"{_current(observed, 'averageValue')}/{average} (avg)"
    return f"{_current(observed, 'value')}/{_target(desired, 'value')}"


def _resource(desired: Object, observed: Any) -> str:
    average = _target(desired, "averageValue")
    if average is not None:
        return f"{_current(observed, 'averageValue')}/{average}"
    target, current = _target(desired, "averageUtilization"), _current(observed, "averageUtilization")
    return f"{current if current == _UNKNOWN else current + '%'}/{'<auto>' if target is None else target + '%'}"


def _target(desired: Object, what: str) -> str | None:
    return object_fields.scalar(desired, "target", what, default="") or None


def _current(observed: Any, what: str) -> str:
    return object_fields.scalar(observed, "current", what, default="") or _UNKNOWN


def _scale(scale: Object, now: float) -> list[Any]:
    desired, current = object_fields.number(scale, "spec", "replicas"), object_fields.number(scale, "status", "replicas")
    return [object_fields.name(scale), desired, current, ages.object_age(scale, now)]


PRINTERS = {
    ("autoscaling", "horizontalpodautoscalers"): Printer(
        (
            NAME,
            text("Reference", "The object that is scaled."),
            text("Targets", "The current and the target value of each metric."),
            text("MinPods", "The minimum number of replicas."),
            text("MaxPods", "The maximum number of replicas."),
            text("Replicas", "How many replicas there are."),
            AGE,
        ),
        _horizontal_pod_autoscaler,
    ),
    # Not a resource of its own: `kubectl get --subresource=scale` shows this.
    ("autoscaling", "scales"): Printer(
        (
            text("Name", NAME.description),
            integer("Desired", "The desired number of replicas."),
            integer("Available", "How many replicas there are."),
            AGE,
        ),
        _scale,
    ),
}
