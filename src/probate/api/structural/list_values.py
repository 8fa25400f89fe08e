"""Lists that are sets or maps: no item twice, no key twice.

Kubernetes names a map's key in brackets here (`spec.ports[web][1]`), though with a dot where it validates values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from probate.api import field_errors
from probate.api.field_errors import Path, Problem
from probate.api.schema.node import Schema
from probate.api.structural.value_checks import canonical


def duplicates(value: Any, schema: Schema) -> list[Problem]:
    """Every item that is there before, once for each that is doubled."""
    return field_errors.first(_walk(value, schema, Path()))


def key_of(item: Any, schema: Schema) -> Hashable:
    """What tells an item of a map by keys from the others; nothing for items of other lists."""
    if schema.list_type != "map" or not isinstance(item, dict):
        return None
    return tuple((key, canonical(item[key])) for key in schema.map_keys if key in item)


def by_keys(items: Any, schema: Schema) -> dict[Hashable, Any]:
    """The items of a map by keys, by their keys."""
    if schema.list_type != "map" or not isinstance(items, list):
        return {}
    return {key_of(one, schema): one for one in items if isinstance(one, dict)}


def _walk(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    if isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(one, dict | list):
                continue
            if (known := schema.properties.get(key)) is not None:
                yield from _walk(one, known, path / key)
            elif schema.values is not None:
                yield from _walk(one, schema.values, path @ key)
    elif isinstance(value, list):
        yield from _walk_list(value, schema, path)


def _walk_list(value: list[Any], schema: Schema, path: Path) -> Iterator[Problem]:
    if schema.list_type == "set":
        yield from (field_errors.duplicate(path / index, value[index]) for index in _doubled([canonical(one) for one in value]))
    elif schema.list_type == "map":
        yield from _walk_map(value, schema, path)
    if schema.items is not None:
        for index, one in enumerate(value):
            yield from _walk(one, schema.items, path / index)


def _walk_map(value: list[Any], schema: Schema, path: Path) -> Iterator[Problem]:
    for index, one in enumerate(value):
        if one is not None and not isinstance(one, dict):
            yield field_errors.invalid(path / index, one, "must be an object for an array of list-type map")
            return
    for index in _doubled([key_of(one or {}, schema) for one in value]):
        yield field_errors.duplicate(
            path / index, {key: value[index][key] for key in schema.map_keys if key in (value[index] or {})}
        )


def _doubled(keys: list[Hashable]) -> list[int]:
    """The place of each key's second appearance."""
    times: dict[Hashable, int] = {}
    found = []
    for index, key in enumerate(keys):
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            found.append(index)
    return found
