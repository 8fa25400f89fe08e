"""Validates changes of the placement of a Pod with scheduling gates: constraints may become narrower, not wider.

A node selector may get more labels, a required term more expressions at its end. Preferred terms may change.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import FieldPath, invalid
from probate.kinds.shared.field_checks import Problems, Value, child, is_same, items, objects, without

_NEEDED = "requiredDuringSchedulingIgnoredDuringExecution"


def check_placement(spec: Value, before: Value, path: FieldPath) -> Problems:
    """Validates how the placement of a gated Pod changed. Other checks ensure that the placement of other Pods does not change."""
    if not items(before, "schedulingGates"):
        return
    selector, had = child(spec, "nodeSelector"), child(before, "nodeSelector")
    if any(selector.get(key) != value for key, value in had.items()):
        yield invalid(
            path / "nodeSelector", selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        )
    terms, were = _terms(spec), _terms(before)
    at = path / "affinity" / "nodeAffinity" / _NEEDED / "nodeSelectorTerms"
    if were and len(terms) != len(were):
        yield invalid(at, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (term, old) in enumerate(zip(terms, were, strict=False)):
        if not _is_narrower(term, old):
            yield invalid(at / index, term, "only additions are allowed (no mutations or deletions)")


def without_placement(spec: Value) -> Value:
    """Returns a spec without the fields that this module checks."""
    return {**without(spec, "nodeSelector"), "affinity": without(child(spec, "affinity"), "nodeAffinity")}


def _terms(spec: Value) -> list[Value]:
    return objects(child(child(child(spec, "affinity"), "nodeAffinity"), _NEEDED), "nodeSelectorTerms")


def _is_narrower(term: Value, old: Value) -> bool:
    """Reports whether a term still has all requirements that it had.

    An empty term matches nothing, so adding requirements to it would make it wider.
    """
    asked: list[tuple[list[Any], list[Any]]] = [
        (items(term, name), items(old, name)) for name in ("matchExpressions", "matchFields")
    ]
    if not any(had for _, had in asked):
        return not any(now for now, _ in asked)
    return all(is_same(now[: len(had)], had) for now, had in asked)
