"""The fields that differ between two objects: those changed or added, and those removed.

A value that is added or removed as a whole includes all its parts, since each of them can be owned. The order of list items is not
owned and not compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from probate.api.apply.field_sets import LEAF, SELF, FieldSet
from probate.api.apply.schema_shapes import DEDUCED, MissingKey, Shape
from probate.core import work_limits


class Difference(NamedTuple):
    """The fields that differ between an old and a new object."""

    changed: FieldSet
    removed: FieldSet


NO_DIFFERENCE = Difference({}, {})


def compare(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> Difference:
    """Returns the fields that differ in the new object."""
    if old == new:
        return NO_DIFFERENCE
    changed, removed = _compare_maps(old, new, shape)
    return Difference(changed or {}, removed or {})


_CONTAINERS = frozenset({dict, list})
ChangedAndRemoved: TypeAlias = tuple[FieldSet | None, FieldSet | None]


def _compare_values(old: Any, new: Any, shape: Shape) -> ChangedAndRemoved:
    """Compares two unequal values. Null equals an empty map or list in kind, but is a change."""
    if (not old and not new) or old == new:
        return LEAF, None
    types = {type(value) for value in (old, new) if value is not None}
    if types == {dict}:
        return (LEAF, None) if shape.is_atomic else _compare_maps(old or {}, new or {}, shape)
    if types == {list}:
        return (LEAF, None) if shape.list_type == "atomic" or shape.item is None else _compare_lists(old or [], new or [], shape)
    if len(types) == 1:
        return LEAF, None
    lost = {key: node for key, node in all_fields(old, shape).items() if key != SELF}
    return all_fields(new, shape), lost or None


def all_fields(value: Any, shape: Shape) -> FieldSet:
    """Returns a value's field and the fields of all its parts."""
    if not value:
        return LEAF
    value_type = type(value)
    if value_type is dict and not shape.is_atomic:
        work_limits.spend(len(value))
        parts: FieldSet = {SELF: LEAF}
        for key, inner in value.items():
            has_parts = inner and type(inner) in _CONTAINERS
            parts[f"f:{key}"] = all_fields(inner, shape.child(key) or DEDUCED) if has_parts else LEAF
        return parts
    if value_type is list and shape.list_type != "atomic" and shape.item is not None:
        work_limits.spend(len(value))
        inner = shape.item
        return {SELF: LEAF, **{_path_element(shape, index, item): all_fields(item, inner) for index, item in enumerate(value)}}
    return LEAF


def _compare_maps(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> ChangedAndRemoved:
    changed: FieldSet = {}
    removed: FieldSet = {}
    work_limits.spend(len(old) + len(new))
    for key, value in new.items():
        if key not in old:
            changed[f"f:{key}"] = all_fields(value, shape.child(key) or DEDUCED)
        elif (before := old[key]) is not value and before != value:
            _add_difference(changed, removed, f"f:{key}", fields=_compare_values(before, value, shape.child(key) or DEDUCED))
    for key, value in old.items():
        if key not in new:
            removed[f"f:{key}"] = all_fields(value, shape.child(key) or DEDUCED)
    return changed or None, removed or None


def _compare_lists(old: list[Any], new: list[Any], shape: Shape) -> ChangedAndRemoved:
    changed: FieldSet = {}
    removed: FieldSet = {}
    inner = shape.item or DEDUCED
    before, after = _by_path_element(old, shape), _by_path_element(new, shape)
    for path_element, items in after.items():
        old_items = before.get(path_element)
        if old_items is None:
            changed[path_element] = all_fields(items[0], inner)
        elif old_items != items:
            _add_difference(
                changed,
                removed,
                path_element,
                fields=_compare_values(old_items[0], items[0], inner) if len(old_items) == len(items) == 1 else (LEAF, None),
            )
    for path_element, items in before.items():
        if path_element not in after:
            removed[path_element] = all_fields(items[0], inner)
    return changed or None, removed or None


def _add_difference(changed: FieldSet, removed: FieldSet, key: str, *, fields: ChangedAndRemoved) -> None:
    if fields[0] is not None:
        changed[key] = fields[0]
    if fields[1] is not None:
        removed[key] = fields[1]


def _by_path_element(items: list[Any], shape: Shape) -> dict[str, list[Any]]:
    """Returns the items by path element.

    Two items can share one, if the list was stored before its schema had keys.
    """
    work_limits.spend(len(items))
    by_element: dict[str, list[Any]] = {}
    for index, item in enumerate(items):
        by_element.setdefault(_path_element(shape, index, item), []).append(item)
    return by_element


def _path_element(shape: Shape, index: int, item: Any) -> str:
    try:
        return shape.path_element(item)
    except MissingKey:
        return f"i:{index}"
