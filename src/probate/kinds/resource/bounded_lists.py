"""Lists and maps that have a limit. Beyond it nothing in them is looked at, so that nobody pays for what is refused anyway."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from probate.api.field_errors import Path, duplicate, too_many
from probate.kinds.shared.field_checks import Problems, Value, child, items

Check = Callable[[Any, Path], Problems]


def check_items(parent: Value, path: Path, field: str, most: int, check: Check) -> Problems:
    """Each item of a list, by itself."""
    found, here = items(parent, field), path / field
    if len(found) > most:
        yield too_many(here, len(found), most)
        return
    for index, item in enumerate(found):
        yield from check(item, here / index)


def check_distinct(parent: Value, path: Path, field: str, most: int, check: Check, key: Callable[[Any], Hashable]) -> Problems:
    """The same, and no two items have the same key: the second one is to blame, as a whole."""
    yield from check_items(parent, path, field, most, check)
    found, seen = items(parent, field), set()
    for index, item in enumerate(found if len(found) <= most else ()):
        if key(item) in seen:
            yield duplicate(path / field / index, key(item))
        seen.add(key(item))


def check_entries(parent: Value, path: Path, field: str, most: int, name: Check, check: Check) -> Problems:
    """Each entry of a map: what is wrong with its name is told of the map."""
    found, here = child(parent, field), path / field
    if len(found) > most:
        yield too_many(here, len(found), most)
        return
    for one, value in found.items():
        yield from name(one, here)
        yield from check(value or {}, here @ one)


def by_name(item: Value) -> Hashable:
    """Items that have a name are told apart by it."""
    return str((item or {}).get("name") or "")


def by_itself(item: Hashable) -> Hashable:
    """Texts are told apart as they are."""
    return item
