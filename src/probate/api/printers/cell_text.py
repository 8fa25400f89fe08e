"""Several values in one cell: labels, selectors, containers, and truncated lists.

format_labels({"b": "2", "a": "1"})                          a=1,b=2
format_selector({"matchExpressions": [{"key": "tier",
                 "operator": "In", "values": ["web"]}]})     tier in (web)
truncate_list(["a", "b", "c", "d", "e"])                     a,b,c + 2 more...
"""

from __future__ import annotations

from typing import Any

from probate.api.printers import object_fields

NONE = "<none>"
UNSET = "<unset>"


def format_labels(label_map: Any) -> str:
    """Formats labels in the order of their keys, or `<none>`."""
    return (
        ",".join(f"{key}={value}" for key, value in sorted(label_map.items()))
        if isinstance(label_map, dict) and label_map
        else NONE
    )


def format_selector(label_selector: Any) -> str | None:
    """Formats a label selector in kubectl's syntax. Returns an empty string for an empty selector, None for an invalid one."""
    requirements = [(key, f"{key}={value}") for key, value in object_fields.mapping(label_selector, "matchLabels").items()]
    for expression in object_fields.objects(label_selector, "matchExpressions"):
        requirement = _requirement(expression)
        if requirement is None:
            return None
        requirements.append((object_fields.text(expression, "key"), requirement))
    return ",".join(text for _, text in sorted(requirements, key=lambda pair: pair[0]))


def format_selector_or_none(label_selector: Any) -> str:
    """Formats the selector as most kinds do: `<none>` for an empty one."""
    text = format_selector(label_selector)
    return "<error>" if text is None else text or NONE


def _requirement(expression: dict[str, Any]) -> str | None:
    key, operator = object_fields.text(expression, "key"), object_fields.text(expression, "operator")
    values = sorted(object_fields.texts(expression, "values"))
    if operator in {"In", "NotIn"} and values:
        return f"{key} {operator.lower()} ({','.join(values)})"
    if operator in {"Exists", "DoesNotExist"} and not values:
        return key if operator == "Exists" else f"!{key}"
    return None


def container_cells(pod_spec: Any) -> list[str]:
    """Returns two cells: the containers' names and their images."""
    specs = object_fields.objects(pod_spec, "containers")
    return [",".join(object_fields.text(spec, field) for spec in specs) for field in ("name", "image")]


def truncate_list(values: list[str], *, limit: int = 3, separator: str = ",") -> str:
    """Joins the first values, and appends the number of the others."""
    text = separator.join(values[:limit])
    return f"{text} + {len(values) - limit} more..." if len(values) > limit else text
