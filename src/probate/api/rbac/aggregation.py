"""The rules of a ClusterRole that is put together from others: those of all that its selectors choose, each rule once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Any

from probate.api.field_errors import Path
from probate.api.selectors import label_selectors

Object = Mapping[str, Any]


def is_aggregated(role: Object) -> bool:
    """Whether the role's rules are those of others."""
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def rules_of(role: Object, others: Sequence[Object]) -> list[Any]:
    """What the rules of an aggregated role should be, given all ClusterRoles there are.

    A role that one selector has chosen adds nothing when another chooses it, so each is looked at until the first chooses it: it is
    the number of selectors times that of roles that are never chosen which this takes.
    """
    found: dict[str, Any] = {}  # by how it is written
    left = sorted((one for one in others if _name(one) != _name(role)), key=_name)
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        compiled, problems = label_selectors.compile_object(selector, Path())
        if problems or not left:
            continue
        chosen = [compiled.matches(_meta(one).get("labels") or {}) for one in left]
        for rule in chain.from_iterable(one.get("rules") or () for one in compress(left, chosen)):
            found.setdefault(repr(rule), rule)
        left = [one for one, is_chosen in zip(left, chosen, strict=True) if not is_chosen]
    return list(found.values())


def _meta(role: Object) -> Object:
    meta: Object = role["metadata"]
    return meta


def _name(role: Object) -> str:
    return str(_meta(role)["name"])
