"""Which of the names it asks for a definition gets: names in a group are for one definition each, first come, first served.

Plural, singular and short names are one space (kubectl takes any of them), kind and list kind another. A name that is taken is
refused and the definition keeps what it had; the rest is accepted all the same. Names are freed when a definition that holds
them goes or gives them up, so after any change the others of the group should be looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from probate.api.crds.layout import Definition, names_of, spec_of

_REASONS = {"plural": "PluralConflict", "singular": "SingularConflict", "kind": "KindConflict", "listKind": "ListKindConflict"}


class Review(NamedTuple):
    """The names a definition has from now on. `reason` and `message` are of the condition NamesAccepted."""

    accepted: dict[str, Any]
    are_accepted: bool
    reason: str
    message: str


class _Taken(NamedTuple):
    resources: frozenset[str]
    kinds: frozenset[str]


def review(crd: Definition, others: Iterable[Definition]) -> Review:
    """Look at one definition among all others (itself among them or not): what it gets and what it does not."""
    wanted, had = names_of(crd), accepted_names(crd)
    taken = _taken_in(crd, others)
    conflicts: list[tuple[str, str]] = []
    accepted = dict(had)
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        refused = _refused(field, wanted, had, taken)
        if refused:
            conflicts.append((_REASONS.get(field, "ShortNamesConflict"), _message(refused)))
        elif field in wanted or field in accepted:
            accepted[field] = wanted.get(field)
    accepted["categories"] = wanted.get("categories")
    reason, message = conflicts[-1] if conflicts else ("NoConflicts", "no conflicts found")
    return Review({field: one for field, one in accepted.items() if one}, not conflicts, reason, message)


def accepted_names(crd: Definition) -> dict[str, Any]:
    """The names that a definition has."""
    return (crd.get("status") or {}).get("acceptedNames") or {}


def _taken_in(crd: Definition, others: Iterable[Definition]) -> _Taken:
    """The names in the group that somebody else has."""
    name, group = (crd.get("metadata") or {}).get("name"), spec_of(crd).get("group")
    held = [accepted_names(one) for one in others if spec_of(one).get("group") == group and one["metadata"]["name"] != name]
    resources = {one.get(field) or "" for one in held for field in ("plural", "singular")}
    kinds = {one.get(field) or "" for one in held for field in ("kind", "listKind")}
    short = {name for one in held for name in one.get("shortNames") or []}
    return _Taken(frozenset(resources | short) - {""}, frozenset(kinds) - {""})


def _refused(field: str, wanted: dict[str, Any], had: dict[str, Any], taken: _Taken) -> list[str]:
    """Of one field, the names that are somebody else's. What the definition has already stays its own."""
    if field == "shortNames":
        kept = set(had.get("shortNames") or [])
        return [one for one in wanted.get("shortNames") or [] if one in taken.resources and one not in kept]
    space = taken.kinds if field in {"kind", "listKind"} else taken.resources
    name = wanted.get(field)
    return [name] if name and name != had.get(field) and name in space else []


def _message(refused: list[str]) -> str:
    sentences = [f'"{one}" is already in use' for one in refused]
    return sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
