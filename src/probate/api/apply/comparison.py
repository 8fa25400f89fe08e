"""Which fields differ between two objects: what was changed or added, and what was removed.

What comes or goes as a whole does so with all its parts: each of them can be owned. The order of a list's items is nobody's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.api.apply.field_sets import LEAF, SELF, FieldSet
from probate.api.apply.schema_shapes import DEDUCED, NoKey, Shape
from probate.core import work_limits


class Difference(NamedTuple):
    """What became different on the way from one object to another."""

    changed: FieldSet
    removed: FieldSet


NONE = Difference({}, {})


def difference(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> Difference:
    """What is different in the new object."""
    if old == new:
        return NONE
    changed, removed = _in_map(old, new, shape)
    return Difference(changed or {}, removed or {})


_CONTAINERS = frozenset({dict, list})
Both = tuple[FieldSet | None, FieldSet | None]


def _between(old: Any, new: Any, shape: Shape) -> Both:
    """Of two values that are not equal. Null is as good as an empty map or list, but not the same."""
    if (not old and not new) or old == new:
        return LEAF, None
    sorts = {type(one) for one in (old, new) if one is not None}
    if sorts == {dict}:
        return (LEAF, None) if shape.is_piece else _in_map(old or {}, new or {}, shape)
    if sorts == {list}:
        return (LEAF, None) if shape.list_type == "atomic" or shape.item is None else _in_list(old or [], new or [], shape)
    if len(sorts) == 1:
        return LEAF, None
    lost = {key: node for key, node in whole(old, shape).items() if key != SELF}
    return whole(new, shape), lost or None


def whole(value: Any, shape: Shape) -> FieldSet:
    """A value and all its parts."""
    if not value:
        return LEAF
    sort = type(value)
    if sort is dict and not shape.is_piece:
        work_limits.spend(len(value))
        parts: FieldSet = {SELF: LEAF}
        for key, inner in value.items():
            has_parts = inner and type(inner) in _CONTAINERS
            parts[f"f:{key}"] = whole(inner, shape.of(key) or DEDUCED) if has_parts else LEAF
        return parts
    if sort is list and shape.list_type != "atomic" and shape.item is not None:
        work_limits.spend(len(value))
        inner = shape.item
        return {SELF: LEAF, **{_place(shape, index, item): whole(item, inner) for index, item in enumerate(value)}}
    return LEAF


def _in_map(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> Both:
    changed: FieldSet = {}
    removed: FieldSet = {}
    work_limits.spend(len(old) + len(new))
    for key, value in new.items():
        if key not in old:
            changed[f"f:{key}"] = whole(value, shape.of(key) or DEDUCED)
        elif (before := old[key]) is not value and before != value:
            _note(changed, removed, f"f:{key}", _between(before, value, shape.of(key) or DEDUCED))
    for key, value in old.items():
        if key not in new:
            removed[f"f:{key}"] = whole(value, shape.of(key) or DEDUCED)
    return changed or None, removed or None


def _in_list(old: list[Any], new: list[Any], shape: Shape) -> Both:
    changed: FieldSet = {}
    removed: FieldSet = {}
    inner = shape.item or DEDUCED
    before, after = _by_place(old, shape), _by_place(new, shape)
    for place, items in after.items():
        known = before.get(place)
        if known is None:
            changed[place] = whole(items[0], inner)
        elif known != items:
            _note(changed, removed, place, _between(known[0], items[0], inner) if len(known) == len(items) == 1 else (LEAF, None))
    for place, items in before.items():
        if place not in after:
            removed[place] = whole(items[0], inner)
    return changed or None, removed or None


def _note(changed: FieldSet, removed: FieldSet, key: str, both: Both) -> None:
    if both[0] is not None:
        changed[key] = both[0]
    if both[1] is not None:
        removed[key] = both[1]


def _by_place(items: list[Any], shape: Shape) -> dict[str, list[Any]]:
    """The items by their names. (An object that was stored long ago may have two of one name.)"""
    work_limits.spend(len(items))
    found: dict[str, list[Any]] = {}
    for index, item in enumerate(items):
        found.setdefault(_place(shape, index, item), []).append(item)
    return found


def _place(shape: Shape, index: int, item: Any) -> str:
    try:
        return shape.place(item)
    except NoKey:
        return f"i:{index}"
