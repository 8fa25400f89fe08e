"""The rules of a ClusterRole that is put together from others: those of all that its selectors choose, each rule once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from probate.machinery import label_selectors
from probate.machinery.problems import Path

Object = Mapping[str, Any]


def is_aggregated(role: Object) -> bool:
    """Whether the role's rules are those of others."""
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def rules_of(role: Object, others: Sequence[Object]) -> list[Any]:
    """What the rules of an aggregated role should be, given all ClusterRoles there are."""
    found: list[Any] = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        compiled, problems = label_selectors.compile_object(selector, Path())
        if problems:
            continue
        chosen = [one for one in others if compiled.matches(_meta(one).get("labels") or {}) and _name(one) != _name(role)]
        _add(found, (rule for one in sorted(chosen, key=_name) for rule in one.get("rules") or ()))
    return found


def _add(found: list[Any], rules: Iterable[Any]) -> None:
    known = {repr(one) for one in found}
    for rule in rules:
        if repr(rule) not in known:
            known.add(repr(rule))
            found.append(rule)


def _meta(role: Object) -> Object:
    meta: Object = role["metadata"]
    return meta


def _name(role: Object) -> str:
    return str(_meta(role)["name"])
