"""Checks lists that are sets or maps for duplicate items and keys.

As in Kubernetes, these paths have the key of a map in brackets (`spec.ports[web][1]`), unlike the paths of value validation, which
use a dot.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from probate.api import field_errors
from probate.api.field_errors import FieldError, FieldPath
from probate.api.schema.node import Schema
from probate.api.structural.value_checks import canonical


def duplicates(value: Any, schema: Schema) -> list[FieldError]:
    """Returns a problem for each duplicated item, once per duplicated value."""
    return field_errors.limit_field_errors(_walk(value, schema, FieldPath()))


def key_of(item: Any, schema: Schema) -> Hashable:
    """Returns the identity of an item in a list of type map; None for items of other lists."""
    if schema.list_type != "map" or not isinstance(item, dict):
        return None
    return tuple((key, canonical(item[key])) for key in schema.map_keys if key in item)


def by_keys(items: Any, schema: Schema) -> dict[Hashable, Any]:
    """Returns the items of a list of type map by their keys."""
    if schema.list_type != "map" or not isinstance(items, list):
        return {}
    return {key_of(one, schema): one for one in items if isinstance(one, dict)}


def _walk(value: Any, schema: Schema, path: FieldPath) -> Iterator[FieldError]:
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


def _walk_list(value: list[Any], schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    if schema.list_type == "set":
        yield from (
            field_errors.duplicate(path / index, value[index]) for index in _second_occurrences([canonical(one) for one in value])
        )
    elif schema.list_type == "map":
        yield from _walk_map(value, schema, path)
    if schema.items is not None:
        for index, one in enumerate(value):
            yield from _walk(one, schema.items, path / index)


def _walk_map(value: list[Any], schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    for index, one in enumerate(value):
        if one is not None and not isinstance(one, dict):
            yield field_errors.invalid(path / index, one, "must be an object for an array of list-type map")
            return
    for index in _second_occurrences([key_of(one or {}, schema) for one in value]):
        yield field_errors.duplicate(
            path / index, {key: value[index][key] for key in schema.map_keys if key in (value[index] or {})}
        )


def _second_occurrences(keys: list[Hashable]) -> list[int]:
    """Returns the index of the second occurrence of each duplicated key."""
    counts: dict[Hashable, int] = {}
    indexes = []
    for index, key in enumerate(keys):
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 2:
            indexes.append(index)
    return indexes
