"""Which nodes a pod asks for: by its node selector, and by what its node affinity requires.

Terms are alternatives; what stands inside a term must all hold. A term in which nothing stands matches no node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probate.api.selectors.requirements import whole_number

Object = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def is_wanted(spec: Object, node: Object) -> bool:
    """Whether a pod of this spec may run on the node, as far as it has a say."""
    labels = node["metadata"].get("labels") or {}
    if not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    required = _node_affinity(spec).get(REQUIRED)
    return required is None or any(matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def preference(spec: Object, node: Object) -> int:
    """The sum of the weights by which the pod prefers the node."""
    preferred = _node_affinity(spec).get(PREFERRED) or ()
    return sum(one["weight"] for one in preferred if matches(one["preference"], node))


def matches(term: Object, node: Object) -> bool:
    """Whether all of a term holds for the node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    labels, named = node["metadata"].get("labels") or {}, {"metadata.name": node["metadata"]["name"]}
    return all(_holds(one, labels) for one in expressions) and all(_holds(one, named) for one in fields)


def _node_affinity(spec: Object) -> Object:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}


def _holds(expression: Object, labels: Mapping[str, str]) -> bool:
    found, values = labels.get(expression["key"]), expression.get("values") or []
    match expression["operator"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case operator:
            return _compares(operator, found, values)


def _compares(operator: str, found: str | None, values: list[str]) -> bool:
    number, limit = whole_number(found or ""), whole_number(values[0] if values else "")
    if number is None or limit is None:
        return False
    return number > limit if operator == "Gt" else number < limit
