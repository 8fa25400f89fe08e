"""Keys of labels by which a Pod wants to be with others, or apart from them: those with the same value as it has itself.

When a Pod is made its own values go into the selector beside the keys, so there must be a selector, and a key that is in it more
than once was there before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import Path, forbidden, invalid
from probate.kinds.shared.field_checks import Problems, Value, check_rule, child, objects, text, texts

_TWICE = "exists in both matchLabelKeys and labelSelector"


def check_in_term(term: Value, path: Path) -> Problems:
    """The keys of a term of affinity. One that the selector has too is reported by its number, below the term."""
    matched, unmatched = texts(term, "matchLabelKeys"), texts(term, "mismatchLabelKeys")
    yield from _check_keys(matched, term, path / "matchLabelKeys")
    yield from _check_keys(unmatched, term, path / "mismatchLabelKeys")
    yield from (invalid(path / index, key, _TWICE) for index, key in _given_twice(matched, term))
    excluded = set(unmatched)
    for index, key in enumerate(matched):
        if key in excluded:
            yield invalid(path / "matchLabelKeys" / index, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def check_in_constraint(constraint: Value, path: Path) -> Problems:
    """The keys of a constraint on how Pods are spread."""
    keys, at = texts(constraint, "matchLabelKeys"), path / "matchLabelKeys"
    yield from _check_keys(keys, constraint, at)
    yield from (invalid(at / index, key, _TWICE) for index, key in _given_twice(keys, constraint))


def _check_keys(keys: list[str], term: Value, path: Path) -> Problems:
    if keys and term.get("labelSelector") is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        yield from check_rule(key, path / index, names.qualified_name)


def _given_twice(keys: list[str], term: Value) -> Iterator[tuple[int, str]]:
    if not keys:
        return
    selector = child(term, "labelSelector")
    given = Counter([*child(selector, "matchLabels"), *(text(one, "key") for one in objects(selector, "matchExpressions"))])
    yield from ((index, key) for index, key in enumerate(keys) if given[key] > 1)
