"""Field sets in the order in which Kubernetes writes them, so that equal sets are equal text.

The node itself (`.`) comes first, then fields by name, items by their keys, items of sets by value, and items by index. Keys and
values compare by type: port 443 comes before port 8080.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import orjson

from probate.api.apply.field_sets import FieldSet

SortKey: TypeAlias = tuple[Any, ...]

_PREFIX_RANKS = {".": 0, "f": 1, "k": 2, "v": 3, "i": 4}


def sort_fields(fields: FieldSet) -> FieldSet:
    """Returns the set with all its nodes in order."""
    keys = fields if len(fields) < 2 else sorted(fields) if _is_plain(fields) else sorted(fields, key=_sort_key)
    return {key: sort_fields(fields[key]) if fields[key] else fields[key] for key in keys}


def serialize(fields: FieldSet) -> bytes:
    """Returns the set as JSON, in order."""
    sorted_by_names = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    if b'"k:' in sorted_by_names or b'"v:' in sorted_by_names or b'"i:' in sorted_by_names:
        return orjson.dumps(sort_fields(fields))
    return sorted_by_names


def _is_plain(fields: FieldSet) -> bool:
    """Returns whether the set holds only the node itself and fields by name, whose order is that of their text."""
    return all(key[0] in ".f" for key in fields)


def _sort_key(key: str) -> SortKey:
    prefix, rest = key[0], key[2:]
    if prefix in ".f":
        return _PREFIX_RANKS[prefix], rest
    value = orjson.loads(rest)
    if prefix == "k":
        return _PREFIX_RANKS[prefix], sorted((name, _rank(part)) for name, part in value.items())
    return _PREFIX_RANKS.get(prefix, 5), _rank(value)


def _rank(value: Any) -> SortKey:
    """Returns the sort key of a value: numbers, then strings, booleans, lists, objects, null."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    if isinstance(value, list):
        return 3, [_rank(item) for item in value]
    if isinstance(value, dict):
        return 4, sorted((name, _rank(item)) for name, item in value.items())
    return (5,)
