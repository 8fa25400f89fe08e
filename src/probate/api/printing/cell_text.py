"""Several values in one cell: labels, selectors, containers, and lists that are cut off.

labels({"b": "2", "a": "1"})                          a=1,b=2
selector({"matchExpressions": [{"key": "tier",
          "operator": "In", "values": ["web"]}]})     tier in (web)
cut(["a", "b", "c", "d", "e"])                        a,b,c + 2 more...
"""

from __future__ import annotations

from typing import Any

from probate.api.printing import object_fields

NONE = "<none>"
UNSET = "<unset>"


def labels(found: Any) -> str:
    """Labels in the order of their keys, or `<none>`."""
    return ",".join(f"{key}={value}" for key, value in sorted(found.items())) if isinstance(found, dict) and found else NONE


def selector(found: Any) -> str | None:
    """A label selector in kubectl's language. Empty if it asks nothing; None if it makes no sense."""
    asked = [(key, f"{key}={value}") for key, value in object_fields.mapping(found, "matchLabels").items()]
    for expression in object_fields.objects(found, "matchExpressions"):
        written = _requirement(expression)
        if written is None:
            return None
        asked.append((object_fields.text(expression, "key"), written))
    return ",".join(written for _, written in sorted(asked, key=lambda one: one[0]))


def selector_or_none(found: Any) -> str:
    """The selector as most kinds show it: `<none>` where it asks nothing."""
    written = selector(found)
    return "<error>" if written is None else written or NONE


def _requirement(expression: dict[str, Any]) -> str | None:
    key, operator = object_fields.text(expression, "key"), object_fields.text(expression, "operator")
    values = sorted(object_fields.texts(expression, "values"))
    if operator in {"In", "NotIn"} and values:
        return f"{key} {operator.lower()} ({','.join(values)})"
    if operator in {"Exists", "DoesNotExist"} and not values:
        return key if operator == "Exists" else f"!{key}"
    return None


def containers(pod_spec: Any) -> list[str]:
    """Two cells: the containers' names and their images."""
    found = object_fields.objects(pod_spec, "containers")
    return [",".join(object_fields.text(one, field) for one in found) for field in ("name", "image")]


def cut(found: list[str], *, limit: int = 3, separator: str = ",") -> str:
    """The first few, and how many there are besides."""
    shown = separator.join(found[:limit])
    return f"{shown} + {len(found) - limit} more..." if len(found) > limit else shown
