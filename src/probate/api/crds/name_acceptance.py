"""Decides which of its requested names a CRD gets. A name in a group belongs to one CRD: the first that requests it.

Plural, singular and short names share one namespace (kubectl accepts any of them), kind and list kind another. If a name is
in use, the CRD keeps its previous name; the other names are accepted all the same. Names become free when a CRD that holds them is
deleted or gives them up, so after any change the other CRDs of the group must be reconciled again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from probate.api.crds.layout import Crd, names_of, spec_of

_REASONS = {"plural": "PluralConflict", "singular": "SingularConflict", "kind": "KindConflict", "listKind": "ListKindConflict"}


class NameAcceptance(NamedTuple):
    """The names that a CRD has from now on. `reason` and `message` are those of the condition NamesAccepted."""

    accepted: dict[str, Any]
    are_accepted: bool
    reason: str
    message: str


class _UsedNames(NamedTuple):
    resources: frozenset[str]
    kinds: frozenset[str]


def accept_names(crd: Crd, other_crds: Iterable[Crd]) -> NameAcceptance:
    """Decides the names of one CRD among all CRDs, which may include it."""
    requested, current = names_of(crd), accepted_names(crd)
    used = _used_names(crd, other_crds)
    conflicts: list[tuple[str, str]] = []
    accepted = dict(current)
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        conflicting = _conflicting_names(field, requested, current=current, used=used)
        if conflicting:
            conflicts.append((_REASONS.get(field, "ShortNamesConflict"), _message(conflicting)))
        elif field in requested or field in accepted:
            accepted[field] = requested.get(field)
    accepted["categories"] = requested.get("categories")
    reason, message = conflicts[-1] if conflicts else ("NoConflicts", "no conflicts found")
    return NameAcceptance({field: value for field, value in accepted.items() if value}, not conflicts, reason, message)


def accepted_names(crd: Crd) -> dict[str, Any]:
    """Returns the names that a CRD has."""
    return (crd.get("status") or {}).get("acceptedNames") or {}


def _used_names(crd: Crd, other_crds: Iterable[Crd]) -> _UsedNames:
    """Returns the names in the group that other CRDs have."""
    name, group = (crd.get("metadata") or {}).get("name"), spec_of(crd).get("group")
    same_group = (other for other in other_crds if spec_of(other).get("group") == group and other["metadata"]["name"] != name)
    accepted = [accepted_names(other) for other in same_group]
    resources = {names.get(field) or "" for names in accepted for field in ("plural", "singular")}
    kinds = {names.get(field) or "" for names in accepted for field in ("kind", "listKind")}
    short_names = {name for names in accepted for name in names.get("shortNames") or []}
    return _UsedNames(frozenset(resources | short_names) - {""}, frozenset(kinds) - {""})


def _conflicting_names(field: str, requested: dict[str, Any], *, current: dict[str, Any], used: _UsedNames) -> list[str]:
    """Returns the names in a field that other CRDs have. A CRD keeps the names that it already has."""
    if field == "shortNames":
        own = set(current.get("shortNames") or [])
        return [
            short_name for short_name in requested.get("shortNames") or [] if short_name in used.resources and short_name not in own
        ]
    names_in_use = used.kinds if field in {"kind", "listKind"} else used.resources
    name = requested.get(field)
    return [name] if name and name != current.get(field) and name in names_in_use else []


def _message(conflicting: list[str]) -> str:
    sentences = [f'"{name}" is already in use' for name in conflicting]
    return sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
