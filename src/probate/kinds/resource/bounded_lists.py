"""Validates lists and maps that have a maximum size.

If it is exceeded, the items are not checked, to bound the cost of rejected objects.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from probate.api.field_errors import FieldPath, duplicate, too_many
from probate.kinds.shared.field_checks import Problems, Value, child, items

Check = Callable[[Any, FieldPath], Problems]


def check_items(parent: Value, path: FieldPath, field: str, *, most: int, check: Check) -> Problems:
    """Validates each item of a list, and the length of the list."""
    found, here = items(parent, field), path / field
    if len(found) > most:
        yield too_many(here, len(found), most)
        return
    for index, item in enumerate(found):
        yield from check(item, here / index)


def check_distinct(
    parent: Value, path: FieldPath, field: str, *, most: int, check: Check, key: Callable[[Any], Hashable]
) -> Problems:
    """Validates each item of a list, its length, and that no two items have the same key: the second one is reported as a whole."""
    yield from check_items(parent, path, field, most=most, check=check)
    found, seen = items(parent, field), set()
    for index, item in enumerate(found if len(found) <= most else ()):
        if key(item) in seen:
            yield duplicate(path / field / index, key(item))
        seen.add(key(item))


def check_entries(parent: Value, path: FieldPath, field: str, *, most: int, name: Check, check: Check) -> Problems:
    """Validates each entry of a map. Problems of a key are reported with the path of the map."""
    found, here = child(parent, field), path / field
    if len(found) > most:
        yield too_many(here, len(found), most)
        return
    for one, value in found.items():
        yield from name(one, here)
        yield from check(value or {}, here @ one)


def key_by_name(item: Value) -> Hashable:
    """Returns the key of items that are identified by name."""
    return str((item or {}).get("name") or "")


def key_by_value(item: Hashable) -> Hashable:
    """Returns the key of items that are identified by their value."""
    return item
