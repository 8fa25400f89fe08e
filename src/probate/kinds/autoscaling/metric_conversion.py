"""Converts the metrics of an autoscaler between the older form, which autoscaling/v1 keeps in annotations, and that of v2.

    older    {"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "1k"}}
    v2       {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}

A status has the same form, with `current` in place of `target`. Each older field corresponds to a place in v2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.api.objects import Object


class _OlderField(NamedTuple):
    """An older field, its place in v2, and whether the older form always writes it (as a quantity of zero)."""

    older: str
    place: tuple[str, ...]
    is_always_written: bool = False


def _older_fields(measured: str) -> dict[str, tuple[_OlderField, ...]]:
    """Returns the fields of each metric source, in the order in which Go writes them. `measured` is `target` or `current`."""
    is_status = measured == "current"
    name, metric = _OlderField("name", ("name",)), _OlderField("metricName", ("metric", "name"))
    selector = _OlderField("selector", ("metric", "selector"))
    utilization = _OlderField(f"{measured}AverageUtilization", (measured, "averageUtilization"))
    average, value = (f"{measured}AverageValue", (measured, "averageValue")), (f"{measured}Value", (measured, "value"))
    resource = (name, utilization, _OlderField(*average, is_status))
    return {
        "object": (
            _OlderField("target", ("describedObject",)),
            metric,
            _OlderField(*value, is_always_written=True),
            selector,
            _OlderField("averageValue", average[1]),
        ),
        "pods": (metric, _OlderField(*average, is_always_written=True), selector),
        "resource": resource,
        "containerResource": (*resource, _OlderField("container", ("container",))),
        "external": (metric, selector._replace(older="metricSelector"), _OlderField(*value, is_status), _OlderField(*average)),
    }


_SPECS, _STATUSES = _older_fields("target"), _older_fields("current")


def older_specs(metrics: list[Object]) -> list[Object]:
    """Returns the metrics of a v2 spec in the older form of autoscaling/v1."""
    return [_older(one, _SPECS) for one in metrics]


def older_statuses(metrics: list[Object]) -> list[Object]:
    """Returns metrics of a v2 status in the older form."""
    return [_older(one, _STATUSES) for one in metrics]


def newer_specs(metrics: list[Object]) -> list[Object]:
    """Returns metrics in the older form as a v2 spec has them: each target has its type."""
    found = [_newer(one, _SPECS) for one in metrics]
    for metric in found:
        for source in _SPECS.keys() & metric.keys():
            target = metric[source].setdefault("target", {})
            if target.get("averageValue") is not None and target.get("value") == "0":
                del target["value"]  # present only because the older form always writes it
            target["type"] = _type(source, target)
    return found


def newer_statuses(metrics: list[Object]) -> list[Object]:
    """Returns metrics in the older form as a v2 status has them."""
    return [_newer(one, _STATUSES) for one in metrics]


def _older(metric: Object, fields: dict[str, tuple[_OlderField, ...]]) -> Object:
    converted: Object = {"type": metric.get("type", "")}
    for source in (one for one in fields if one in metric):
        converted[source] = {}
        for field in fields[source]:
            value = _at(metric[source], field.place)
            if value is not None or field.is_always_written:
                converted[source][field.older] = "0" if value is None else value
    return converted


def _newer(metric: Object, fields: dict[str, tuple[_OlderField, ...]]) -> Object:
    converted: Object = {"type": metric.get("type", "")}
    for source in (one for one in fields if one in metric):
        given = metric[source] if isinstance(metric[source], dict) else {}
        converted[source] = {}
        for field in fields[source]:
            value = given.get(field.older)
            if value is not None:
                _put(converted[source], field.place, value)
    return converted


def _type(source: str, target: Object) -> str:
    if target.get("averageUtilization") is not None:
        return "Utilization"
    has_value, has_average = target.get("value") is not None, target.get("averageValue") is not None
    if source == "object":
        return "AverageValue" if has_average else "Value"
    return "Value" if source == "external" and has_value else "AverageValue"


def _at(value: Any, place: tuple[str, ...]) -> Any:
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _put(converted: Object, place: tuple[str, ...], value: Any) -> None:
    *outer, last = place
    for name in outer:
        converted = converted.setdefault(name, {})
    converted[last] = value
