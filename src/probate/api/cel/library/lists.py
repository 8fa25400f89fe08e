"""The list functions of Kubernetes and of the CEL lists extension."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.functions import Library, first, product
from probate.lib.cel.numbers import Uint, signed, unsigned
from probate.lib.cel.timestamps import Duration
from probate.lib.cel.values import NONE, Optional, contains, equal, less

LIBRARY = Library()
function = LIBRARY.function

MAX_RANGE = 100_000


@function("list<A>::isSorted() -> bool", cost=first)
def _is_sorted(_: Meter, items: list[Any]) -> bool:
    return not any(less(after, before) for before, after in pairwise(items))


@function("list<A>::sum() -> A", cost=first)
def _sum(_: Meter, items: list[Any]) -> Any:
    kinds = {type(one) for one in items}
    if not kinds:
        return 0
    if kinds == {int}:
        return signed(sum(items))
    if kinds == {Uint}:
        return unsigned(sum(map(int, items)))
    if kinds == {float}:
        return float(sum(items))
    if kinds == {Duration}:
        return Duration(sum(one.ns for one in items))
    raise NoOverload("sum")


@function("list<A>::min() -> A", cost=first)
def _min(_: Meter, items: list[Any]) -> Any:
    return _extreme(items, "min")


@function("list<A>::max() -> A", cost=first)
def _max(_: Meter, items: list[Any]) -> Any:
    return _extreme(items, "max")


def _extreme(items: list[Any], name: str) -> Any:
    if not items:
        raise CelError(f"{name} called on empty list")
    found = items[0]
    less(found, found)
    for one in items[1:]:
        if less(one, found) if name == "min" else less(found, one):
            found = one
    return found


@function("list<A>::indexOf(A) -> int", cost=first)
def _index_of(meter: Meter, items: list[Any], wanted: Any) -> int:
    return next((index for index, one in enumerate(items) if equal(one, wanted, meter)), -1)


@function("list<A>::lastIndexOf(A) -> int", cost=first)
def _last_index_of(meter: Meter, items: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], wanted, meter)), -1)


@function("list<A>::slice(int, int) -> list<A>", cost=first, grows=first)
def _slice(_: Meter, items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0 or start > end or end > len(items):
        raise CelError(f"cannot slice({start}, {end}) of a list of {len(items)}")
    return list(items[start:end])


@function("list<list<A>>::flatten() -> list<A>", "list<dyn>::flatten() -> list<dyn>", cost=first, grows=lambda size: size * 100)
def _flatten(meter: Meter, items: list[Any]) -> list[Any]:
    return _flattened(meter, items, 1)


@function("list<dyn>::flatten(int) -> list<dyn>", cost=first, grows=lambda size, _: size * 100)
def _flattened(meter: Meter, items: list[Any], depth: int) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    meter.charge(len(items))
    found: list[Any] = []
    for one in items:
        found.extend(_flattened(meter, one, depth - 1) if isinstance(one, list) and depth > 0 else [one])
    return found


@function("list<A>::distinct() -> list<A>", cost=lambda size: product(size, size), grows=first)
def _distinct(meter: Meter, items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for one in items:
        if not contains(found, one, meter):
            found.append(one)
    return found


@function("list<A>::sort() -> list<A>", cost=lambda size: size * max(size.bit_length(), 1), grows=first)
def _sort(_: Meter, items: list[Any]) -> list[Any]:
    for one in items:
        less(items[0], one)
    return sorted(items, key=cmp_to_key(lambda a, b: -1 if less(a, b) else 1 if less(b, a) else 0))


@function("list<A>::reverse() -> list<A>", cost=first, grows=first)
def _reverse(_: Meter, items: list[Any]) -> list[Any]:
    return items[::-1]


@function("list<A>::first() -> optional<A>")
def _first(_: Meter, items: list[Any]) -> Any:
    return _optional(items, 0)


@function("list<A>::last() -> optional<A>")
def _last(_: Meter, items: list[Any]) -> Any:
    return _optional(items, -1)


def _optional(items: list[Any], index: int) -> Any:
    return Optional(items[index]) if items else NONE


@function("lists.range(int) -> list<int>", grows=lambda _: MAX_RANGE)
def _range(meter: Meter, count: int) -> list[int]:
    if not 0 <= count <= MAX_RANGE:
        raise CelError(f"lists.range() must be called with a number from 0 to {MAX_RANGE}")
    meter.charge(count)
    return list(range(count))
