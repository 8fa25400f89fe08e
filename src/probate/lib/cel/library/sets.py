"""The set functions of CEL on lists."""

from __future__ import annotations

from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.functions import Library, product
from probate.lib.cel.values import contains

LIBRARY = Library()
function = LIBRARY.function


@function("sets.contains(list<A>, list<A>) -> bool", cost=product)
def _contains(meter: Meter, items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, one, meter) for one in wanted)


@function("sets.equivalent(list<A>, list<A>) -> bool", cost=lambda a, b: 2 * product(a, b))
def _equivalent(meter: Meter, a: list[Any], b: list[Any]) -> bool:
    return _contains(meter, a, b) and _contains(meter, b, a)


@function("sets.intersects(list<A>, list<A>) -> bool", cost=product)
def _intersects(meter: Meter, a: list[Any], b: list[Any]) -> bool:
    return any(contains(a, one, meter) for one in b)
