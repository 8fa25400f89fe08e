"""The rules of an aggregated ClusterRole: those of all ClusterRoles that its selectors match, each rule once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from typing import Any

from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors


def is_aggregated(role: Object) -> bool:
    """Returns whether the role's rules are aggregated from other roles."""
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def aggregated_rules(role: Object, roles: Sequence[Object]) -> list[Any]:
    """Returns the rules that an aggregated role should have, given all ClusterRoles.

    A role that one selector matches adds nothing when another matches it, so each role is checked until the first match: the
    work is the number of selectors times the number of roles that no selector matches.
    """
    rules: dict[str, Any] = {}  # by their text
    candidates = sorted((candidate for candidate in roles if _name(candidate) != _name(role)), key=_name)
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        compiled, problems = label_selectors.compile_object(selector, FieldPath())
        if problems or not candidates:
            continue
        matches = [compiled.matches(_metadata(candidate).get("labels") or {}) for candidate in candidates]
        for rule in chain.from_iterable(candidate.get("rules") or () for candidate in compress(candidates, matches)):
            rules.setdefault(repr(rule), rule)
        candidates = [candidate for candidate, is_match in zip(candidates, matches, strict=True) if not is_match]
    return list(rules.values())


def _metadata(role: Object) -> Object:
    meta: Object = role["metadata"]
    return meta


def _name(role: Object) -> str:
    return str(_metadata(role)["name"])
