"""Merges an applied document into the live object: the document's values win, and all that it does not mention stays.

Items that are in both lists come in the document's order; items that only the live object has stay in place:

    live [a, b, c]    document [c, x, a]    merged [b, c, x, a]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.apply.schema_shapes import DEDUCED, MissingKey, Shape
from probate.core import work_limits


def merge_document(live: dict[str, Any], applied: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Returns the live object with the document merged in. The result shares unchanged parts with both."""
    result = dict(live)
    work_limits.spend(len(applied))
    for key, value in applied.items():
        result[key] = _merge_value(live[key], value, shape.child(key) or DEDUCED) if key in live else value
    return result


def _merge_value(live: Any, applied: Any, shape: Shape) -> Any:
    value_type = type(live)
    if not live or (applied is not None and type(applied) is not value_type):
        return applied
    if value_type is dict and not shape.is_atomic:
        return merge_document(live, applied or {}, shape)
    if value_type is list and shape.list_type != "atomic" and shape.item is not None:
        return list(_merge_items(live, applied or [], shape))
    return applied


def _merge_items(live: list[Any], applied: list[Any], shape: Shape) -> Iterator[Any]:
    """Yields the merged items of a list."""
    work_limits.spend(len(live) + len(applied))
    inner = shape.item or DEDUCED
    live_items = _by_path_element(live, shape)
    applied_items = _by_path_element(applied, shape)
    start = 0
    shared = [index for index, element in enumerate(applied_items) if element in live_items]
    remaining = list(reversed(shared))
    order = list(applied_items)

    def applied_until(end: int) -> Iterator[Any]:
        for element in order[start:end]:
            item = applied_items[element]
            yield _merge_value(live_items[element], item, inner) if element in live_items else item

    for element, item in ((_path_element(shape, index, item), item) for index, item in enumerate(live)):
        if element not in applied_items:
            yield item
        elif remaining and order[remaining[-1]] == element:
            end = remaining.pop() + 1
            yield from applied_until(end)
            start = end
    yield from applied_until(len(order))


def _by_path_element(items: list[Any], shape: Shape) -> dict[str, Any]:
    by_element: dict[str, Any] = {}
    for index, item in enumerate(items):
        by_element.setdefault(_path_element(shape, index, item), item)
    return by_element


def _path_element(shape: Shape, index: int, item: Any) -> str:
    try:
        return shape.path_element(item)
    except MissingKey:
        return f"i:{index}"
