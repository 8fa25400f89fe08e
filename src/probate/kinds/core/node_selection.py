"""Matches nodes against a pod's node selector and its node affinity.

Terms are alternatives; all requirements inside a term must hold. An empty term matches no node.
"""

from __future__ import annotations

from collections.abc import Mapping

from probate.api.objects import Object
from probate.api.selectors.requirements import parse_int64

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def is_selected(spec: Object, node: Object) -> bool:
    """Reports whether the node satisfies the node selector and the required node affinity of this pod spec."""
    labels = node["metadata"].get("labels") or {}
    if not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    required = _node_affinity(spec).get(REQUIRED)
    return required is None or any(matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def preference(spec: Object, node: Object) -> int:
    """Returns the sum of the weights of the preferred terms that match the node."""
    preferred = _node_affinity(spec).get(PREFERRED) or ()
    return sum(one["weight"] for one in preferred if matches(one["preference"], node))


def matches(term: Object, node: Object) -> bool:
    """Reports whether all requirements of a term hold for the node."""
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
    number, limit = parse_int64(found or ""), parse_int64(values[0] if values else "")
    if number is None or limit is None:
        return False
    return number > limit if operator == "Gt" else number < limit
