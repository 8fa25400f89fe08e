"""Sets the defaults of HorizontalPodAutoscalers, in both versions."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import child, ensure_child, fill, items

_UTILIZATION = 80
_PERIOD = 15
_SOURCES = ("resource", "containerResource", "pods", "object", "external")


def default_autoscaler_v1(autoscaler: Object) -> None:
    """Sets the defaults of a HorizontalPodAutoscaler of autoscaling/v1.

    The default metric is set after the conversion to v2.
    """
    if (spec := ensure_child(autoscaler, "spec")) is not None:
        fill(spec, minReplicas=1)


def default_autoscaler_v2(autoscaler: Object) -> None:
    """Sets the defaults of a HorizontalPodAutoscaler of autoscaling/v2."""
    spec = ensure_child(autoscaler, "spec")
    if spec is None:
        return
    fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _UTILIZATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    for metric in items(spec, "metrics"):
        _default_metric(metric)
    _default_behavior(child(spec, "behavior"))


def _default_metric(metric: Object) -> None:
    for name in _SOURCES:
        if (source := child(metric, name)) is not None:
            quantity_defaults.normalize(ensure_child(source, "target"), "value", "averageValue")


def _default_behavior(behavior: Object | None) -> None:
    """Sets the defaults of the scaling rules of both directions, if the behavior is set."""
    if behavior is None:
        return
    if (up := ensure_child(behavior, "scaleUp")) is not None:
        fill(up, stabilizationWindowSeconds=0, selectPolicy="Max", policies=[_policy("Pods", 4), _policy("Percent", 100)])
        quantity_defaults.normalize(up, "tolerance")
    if (down := ensure_child(behavior, "scaleDown")) is not None:
        fill(down, selectPolicy="Max", policies=[_policy("Percent", 100)])
        quantity_defaults.normalize(down, "tolerance")


def _policy(type_: str, value: int) -> dict[str, Any]:
    return {"type": type_, "value": value, "periodSeconds": _PERIOD}
