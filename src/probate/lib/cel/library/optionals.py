"""The functions of optional values.

The compiler implements `or` and `orValue`, because they evaluate their argument only if the optional is empty.
"""

from __future__ import annotations

from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, first
from probate.lib.cel.values import NONE, Optional

LIBRARY = Library()
function = LIBRARY.function


@function("optional.of(A) -> optional<A>")
def _of(_: Meter, value: Any) -> Optional:
    return Optional(value)


@function("optional.none() -> optional<A>")
def _none(_: Meter) -> Optional:
    return NONE


@function("optional.ofNonZeroValue(A) -> optional<A>")
def _of_non_zero(_: Meter, value: Any) -> Optional:
    is_zero = value is None or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)
    return NONE if is_zero or (hasattr(value, "ns") and not value.ns) else Optional(value)


@function("optional<A>::hasValue() -> bool")
def _has_value(_: Meter, value: Optional) -> bool:
    return value is not NONE


@function("optional<A>::value() -> A")
def _value(_: Meter, value: Optional) -> Any:
    if value is NONE:
        raise CelError("optional.none() dereference")
    return value.value


@function("optional<A>::orValue(A) -> A")
@function("optional<A>::or(optional<A>) -> optional<A>")
def _or(_: Meter, value: Optional, other: Any) -> Any:
    raise AssertionError("the compiler implements or and orValue")


@function("optional.unwrap(list<optional<A>>) -> list<A>", "list<optional<A>>::unwrapOpt() -> list<A>", cost=first, grows=first)
def _unwrap(_: Meter, items: list[Any]) -> list[Any]:
    if not all(isinstance(one, Optional) for one in items):
        raise CelError("no such overload: unwrap")
    return [one.value for one in items if one is not NONE]
