"""Sets of fields in the order in which Kubernetes writes them, so that the same set is the same text.

What is in the set itself (`.`) comes first, then fields by their names, items by their keys, items of sets by their values, and
items by their places. Keys and values are compared as what they are: port 443 comes before port 8080.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import orjson

from probate.api.apply.field_sets import FieldSet

Place: TypeAlias = tuple[Any, ...]

_SORTS = {".": 0, "f": 1, "k": 2, "v": 3, "i": 4}


def ordered(fields: FieldSet) -> FieldSet:
    """The set, with all that is in it in order."""
    keys = fields if len(fields) < 2 else sorted(fields) if _is_plain(fields) else sorted(fields, key=_place)
    return {key: ordered(fields[key]) if fields[key] else fields[key] for key in keys}


def text(fields: FieldSet) -> bytes:
    """The set as it is written."""
    sorted_by_names = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    if b'"k:' in sorted_by_names or b'"v:' in sorted_by_names or b'"i:' in sorted_by_names:
        return orjson.dumps(ordered(fields))
    return sorted_by_names


def _is_plain(fields: FieldSet) -> bool:
    """Whether there is nothing but the node itself and fields by their names: these are in order as texts."""
    return all(key[0] in ".f" for key in fields)


def _place(key: str) -> Place:
    sort, rest = key[0], key[2:]
    if sort in ".f":
        return _SORTS[sort], rest
    value = orjson.loads(rest)
    if sort == "k":
        return _SORTS[sort], sorted((name, _rank(part)) for name, part in value.items())
    return _SORTS.get(sort, 5), _rank(value)


def _rank(value: Any) -> Place:
    """Where a value is among others: numbers, texts, truths, lists, objects, nothing."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    if isinstance(value, list):
        return 3, [_rank(one) for one in value]
    if isinstance(value, dict):
        return 4, sorted((name, _rank(one)) for name, one in value.items())
    return (5,)
