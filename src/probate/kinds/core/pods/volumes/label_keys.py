"""Validates `matchLabelKeys` and `mismatchLabelKeys`: keys of labels whose values are taken from the Pod itself.

When a Pod is created, its own values are merged into the selector under these keys. So there must be a selector, and a key that it
contains more than once was in the selector before the merge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid
from probate.kinds.shared.field_checks import Problems, Value, check_rule, child, objects, text, texts

_DUPLICATE = "exists in both matchLabelKeys and labelSelector"


def check_in_term(term: Value, path: FieldPath) -> Problems:
    """Validates the keys of an affinity term. A key that the selector has too is reported with its index, below the term."""
    matched, unmatched = texts(term, "matchLabelKeys"), texts(term, "mismatchLabelKeys")
    yield from _check_keys(matched, term, path / "matchLabelKeys")
    yield from _check_keys(unmatched, term, path / "mismatchLabelKeys")
    yield from (invalid(path / index, key, _DUPLICATE) for index, key in _duplicate_keys(matched, term))
    excluded = set(unmatched)
    for index, key in enumerate(matched):
        if key in excluded:
            yield invalid(path / "matchLabelKeys" / index, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def check_in_constraint(constraint: Value, path: FieldPath) -> Problems:
    """Validates the keys of a topology spread constraint."""
    keys, at = texts(constraint, "matchLabelKeys"), path / "matchLabelKeys"
    yield from _check_keys(keys, constraint, at)
    yield from (invalid(at / index, key, _DUPLICATE) for index, key in _duplicate_keys(keys, constraint))


def _check_keys(keys: list[str], term: Value, path: FieldPath) -> Problems:
    if keys and term.get("labelSelector") is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        yield from check_rule(key, path / index, names.validate_qualified_name)


def _duplicate_keys(keys: list[str], term: Value) -> Iterator[tuple[int, str]]:
    if not keys:
        return
    selector = child(term, "labelSelector")
    given = Counter([*child(selector, "matchLabels"), *(text(one, "key") for one in objects(selector, "matchExpressions"))])
    yield from ((index, key) for index, key in enumerate(keys) if given[key] > 1)
