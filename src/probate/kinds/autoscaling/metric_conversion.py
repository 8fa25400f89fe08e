"""What an autoscaler measures, in the older spelling that autoscaling/v1 keeps in annotations and in the one of v2.

    older    {"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "1k"}}
    v2       {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}

A status is spelled alike, with `current` in place of `target`. Each older field stands for a place in v2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]


class _Word(NamedTuple):
    """An older field, where v2 has it, and whether the older spelling always writes it (as a quantity of zero)."""

    older: str
    place: tuple[str, ...]
    is_always_written: bool = False


def _words(measured: str) -> dict[str, tuple[_Word, ...]]:
    """The fields of each source of a metric, in the order in which Go writes them. `measured` is `target` or `current`."""
    is_status = measured == "current"
    name, metric = _Word("name", ("name",)), _Word("metricName", ("metric", "name"))
    selector = _Word("selector", ("metric", "selector"))
    utilization = _Word(f"{measured}AverageUtilization", (measured, "averageUtilization"))
    average, value = (f"{measured}AverageValue", (measured, "averageValue")), (f"{measured}Value", (measured, "value"))
    resource = (name, utilization, _Word(*average, is_status))
    return {
        "object": (
            _Word("target", ("describedObject",)),
            metric,
            _Word(*value, is_always_written=True),
            selector,
            _Word("averageValue", average[1]),
        ),
        "pods": (metric, _Word(*average, is_always_written=True), selector),
        "resource": resource,
        "containerResource": (*resource, _Word("container", ("container",))),
        "external": (metric, selector._replace(older="metricSelector"), _Word(*value, is_status), _Word(*average)),
    }


_SPECS, _STATUSES = _words("target"), _words("current")


def older_specs(metrics: list[Object]) -> list[Object]:
    """Metrics of a v2 spec in the older spelling."""
    return [_older(one, _SPECS) for one in metrics]


def older_statuses(metrics: list[Object]) -> list[Object]:
    """Metrics of a v2 status in the older spelling."""
    return [_older(one, _STATUSES) for one in metrics]


def newer_specs(metrics: list[Object]) -> list[Object]:
    """Metrics in the older spelling as a v2 spec has them: each target says what it is compared with."""
    found = [_newer(one, _SPECS) for one in metrics]
    for metric in found:
        for source in _SPECS.keys() & metric.keys():
            target = metric[source].setdefault("target", {})
            if target.get("averageValue") is not None and target.get("value") == "0":
                del target["value"]  # was written because it always is
            target["type"] = _type(source, target)
    return found


def newer_statuses(metrics: list[Object]) -> list[Object]:
    """Metrics in the older spelling as a v2 status has them."""
    return [_newer(one, _STATUSES) for one in metrics]


def _older(metric: Object, words: dict[str, tuple[_Word, ...]]) -> Object:
    made: Object = {"type": metric.get("type", "")}
    for source in (one for one in words if one in metric):
        made[source] = {}
        for word in words[source]:
            value = _at(metric[source], word.place)
            if value is not None or word.is_always_written:
                made[source][word.older] = "0" if value is None else value
    return made


def _newer(metric: Object, words: dict[str, tuple[_Word, ...]]) -> Object:
    made: Object = {"type": metric.get("type", "")}
    for source in (one for one in words if one in metric):
        given = metric[source] if isinstance(metric[source], dict) else {}
        made[source] = {}
        for word in words[source]:
            value = given.get(word.older)
            if value is not None:
                _put(made[source], word.place, value)
    return made


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


def _put(made: Object, place: tuple[str, ...], value: Any) -> None:
    *outer, last = place
    for name in outer:
        made = made.setdefault(name, {})
    made[last] = value
