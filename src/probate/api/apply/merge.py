"""An applied document put into the live object: what the document says holds, and all it does not mention stays.

Items that both lists have come in the order of the document, those that only the live object has stay where they were:

    live [a, b, c]    document [c, x, a]    merged [b, c, x, a]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.apply.schema_shapes import DEDUCED, NoKey, Shape
from probate.core import work_limits


def merged(live: dict[str, Any], document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """The live object with the document in it. Parts of both may be parts of it."""
    result = dict(live)
    work_limits.spend(len(document))
    for key, value in document.items():
        result[key] = _value(live[key], value, shape.of(key) or DEDUCED) if key in live else value
    return result


def _value(live: Any, given: Any, shape: Shape) -> Any:
    sort = type(live)
    if not live or (given is not None and type(given) is not sort):
        return given
    if sort is dict and not shape.is_piece:
        return merged(live, given or {}, shape)
    if sort is list and shape.list_type != "atomic" and shape.item is not None:
        return list(_items(live, given or [], shape))
    return given


def _items(live: list[Any], given: list[Any], shape: Shape) -> Iterator[Any]:
    work_limits.spend(len(live) + len(given))
    inner = shape.item or DEDUCED
    there = _by_place(live, shape)
    wanted = _by_place(given, shape)
    taken = 0
    shared = [index for index, place in enumerate(wanted) if place in there]
    waiting = list(reversed(shared))
    order = list(wanted)

    def of_document(end: int) -> Iterator[Any]:
        for place in order[taken:end]:
            yield _value(there[place], wanted[place], inner) if place in there else wanted[place]

    for place, item in ((_place(shape, index, item), item) for index, item in enumerate(live)):
        if place not in wanted:
            yield item
        elif waiting and order[waiting[-1]] == place:
            end = waiting.pop() + 1
            yield from of_document(end)
            taken = end
    yield from of_document(len(order))


def _by_place(items: list[Any], shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for index, item in enumerate(items):
        found.setdefault(_place(shape, index, item), item)
    return found


def _place(shape: Shape, index: int, item: Any) -> str:
    try:
        return shape.place(item)
    except NoKey:
        return f"i:{index}"
