"""Operators: arithmetic, comparison, membership, indexing."""

from __future__ import annotations

from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, tenth, total
from probate.lib.cel.numbers import MIN_INT, OVERFLOW, Uint, divide, is_number, quotient, remainder, signed, unsigned
from probate.lib.cel.timestamps import Duration, Timestamp
from probate.lib.cel.values import NONE, MapList, Optional, SetList, contains, equal, identity, is_nan, key, less, type_name

LIBRARY = Library()
function = LIBRARY.function

_ORDERED = ("bool", "string", "bytes", "timestamp", "duration")
_NUMBERS = ("int", "uint", "double")


def _shorter(a: int, b: int) -> int:
    return tenth(min(a, b))


def _pairs(name: str) -> list[str]:
    same = [f"{name}({one}, {one}) -> bool" for one in _ORDERED]
    return same + [f"{name}({one}, {other}) -> bool" for one in _NUMBERS for other in _NUMBERS]


@function("_==_(A, A) -> bool", cost=_shorter)
def _equal(meter: Meter, a: Any, b: Any) -> bool:
    return equal(a, b, meter)


@function("_!=_(A, A) -> bool", cost=_shorter)
def _unequal(meter: Meter, a: Any, b: Any) -> bool:
    return not equal(a, b, meter)


@function(*_pairs("_<_"), cost=_shorter)
def _less(_: Meter, a: Any, b: Any) -> bool:
    return less(a, b)


@function(*_pairs("_>_"), cost=_shorter)
def _greater(_: Meter, a: Any, b: Any) -> bool:
    return less(b, a)


@function(*_pairs("_<=_"), cost=_shorter)
def _at_most(_: Meter, a: Any, b: Any) -> bool:
    return not less(b, a) and not is_nan(a) and not is_nan(b)


@function(*_pairs("_>=_"), cost=_shorter)
def _at_least(_: Meter, a: Any, b: Any) -> bool:
    return not less(a, b) and not is_nan(a) and not is_nan(b)


@function("!_(bool) -> bool")
def _not(_: Meter, a: bool) -> bool:
    return not a


@function("-_(int) -> int")
def _negated(_: Meter, a: int) -> int:
    return signed(-a)


@function("-_(double) -> double")
def _negated_double(_: Meter, a: float) -> float:
    return -a


@function("_+_(int, int) -> int")
def _add(_: Meter, a: int, b: int) -> int:
    return signed(a + b)


@function("_-_(int, int) -> int")
def _subtract(_: Meter, a: int, b: int) -> int:
    return signed(a - b)


@function("_*_(int, int) -> int")
def _multiply(_: Meter, a: int, b: int) -> int:
    return signed(a * b)


@function("_/_(int, int) -> int")
def _divide(_: Meter, a: int, b: int) -> int:
    if a == MIN_INT and b == -1:
        raise CelError(OVERFLOW)
    return divide(a, b)


@function("_%_(int, int) -> int")
def _modulo(_: Meter, a: int, b: int) -> int:
    if a == MIN_INT and b == -1:
        raise CelError(OVERFLOW)
    return remainder(a, b)


@function("_+_(uint, uint) -> uint")
def _add_unsigned(_: Meter, a: int, b: int) -> Uint:
    return unsigned(int(a) + int(b))


@function("_-_(uint, uint) -> uint")
def _subtract_unsigned(_: Meter, a: int, b: int) -> Uint:
    return unsigned(int(a) - int(b))


@function("_*_(uint, uint) -> uint")
def _multiply_unsigned(_: Meter, a: int, b: int) -> Uint:
    return unsigned(int(a) * int(b))


@function("_/_(uint, uint) -> uint")
def _divide_unsigned(_: Meter, a: int, b: int) -> Uint:
    return Uint(divide(a, b))


@function("_%_(uint, uint) -> uint")
def _modulo_unsigned(_: Meter, a: int, b: int) -> Uint:
    return Uint(remainder(a, b))


@function("_+_(double, double) -> double")
def _add_double(_: Meter, a: float, b: float) -> float:
    return a + b


@function("_-_(double, double) -> double")
def _subtract_double(_: Meter, a: float, b: float) -> float:
    return a - b


@function("_*_(double, double) -> double")
def _multiply_double(_: Meter, a: float, b: float) -> float:
    return a * b


@function("_/_(double, double) -> double")
def _divide_double(_: Meter, a: float, b: float) -> float:
    return quotient(a, b)


@function("_+_(string, string) -> string", cost=tenth, grows=total)
@function("_+_(bytes, bytes) -> bytes", cost=tenth, grows=total)
def _concatenate(_: Meter, a: Any, b: Any) -> Any:
    return a + b


@function("_+_(list<A>, list<A>) -> list<A>", cost=tenth, grows=total)
def _concatenate_lists(meter: Meter, a: list[Any], b: list[Any]) -> list[Any]:
    if type(a) is SetList:
        return SetList([*a, *(one for one in b if not contains(a, one, meter))])
    if type(a) is MapList:
        return _merged(meter, a, b)
    return [*a, *b]


def _merged(meter: Meter, a: MapList, b: list[Any]) -> MapList:
    """Merges two map lists: an item of `b` replaces, in place, the item of `a` with the same keys; other items are appended."""
    meter.charge(len(a) + len(b))
    found = {identity(one, a.keys): one for one in a} | {identity(one, a.keys): one for one in b}
    made = MapList(found.values())
    made.keys = a.keys
    return made


@function("_+_(timestamp, duration) -> timestamp")
def _later(_: Meter, a: Timestamp, b: Duration) -> Timestamp:
    return Timestamp(a.ns + b.ns)


@function("_+_(duration, timestamp) -> timestamp")
def _later_too(_: Meter, a: Duration, b: Timestamp) -> Timestamp:
    return Timestamp(a.ns + b.ns)


@function("_+_(duration, duration) -> duration")
def _longer(_: Meter, a: Duration, b: Duration) -> Duration:
    return Duration(a.ns + b.ns)


@function("_-_(timestamp, timestamp) -> duration")
@function("_-_(duration, duration) -> duration")
def _between(_: Meter, a: Any, b: Any) -> Duration:
    return Duration(a.ns - b.ns)


@function("_-_(timestamp, duration) -> timestamp")
def _earlier(_: Meter, a: Timestamp, b: Duration) -> Timestamp:
    return Timestamp(a.ns - b.ns)


@function("@in(A, list<A>) -> bool")
def _in_list(meter: Meter, wanted: Any, items: list[Any]) -> bool:
    return contains(items, wanted, meter)


@function("@in(A, map<A, B>) -> bool")
def _in_map(_: Meter, wanted: Any, table: dict[Any, Any]) -> bool:
    return key(wanted) in table


@function("_[_](list<A>, int) -> A")
@function("_[_](list<A>, dyn) -> A")
def _item(_: Meter, items: list[Any], index: Any) -> Any:
    found = _at(items, index)
    if found is NONE:
        raise CelError(f"index out of bounds: {index}")
    return found.value


@function("_[_](map<A, B>, A) -> B")
def _value(_: Meter, table: dict[Any, Any], name: Any) -> Any:
    found = table.get(key(name), NONE)
    if found is NONE:
        raise CelError(f"no such key: {name}")
    return found


@function("_[?_](list<A>, int) -> optional<A>")
@function("_[?_](list<A>, dyn) -> optional<A>")
def _optional_item(_: Meter, items: list[Any], index: Any) -> Optional:
    return _at(items, index)


@function("_[?_](map<A, B>, A) -> optional<B>")
def _optional_value(_: Meter, table: dict[Any, Any], name: Any) -> Optional:
    found = table.get(key(name), NONE)
    return NONE if found is NONE else Optional(found)


@function("_[?_](optional<list<A>>, int) -> optional<A>", "_[?_](optional<map<A, B>>, A) -> optional<B>")
@function("_[_](optional<list<A>>, int) -> optional<A>", "_[_](optional<map<A, B>>, A) -> optional<B>")
def _within_optional(meter: Meter, holder: Optional, index: Any) -> Optional:
    if holder is NONE:
        return NONE
    if isinstance(holder.value, list):
        return _optional_item(meter, holder.value, index)
    if isinstance(holder.value, dict):
        return _optional_value(meter, holder.value, index)
    raise CelError(f"no such overload: {type_name(holder.value)}[?_]")


def _at(items: list[Any], index: Any) -> Optional:
    if not is_number(index) or is_nan(index) or index % 1 != 0:
        raise CelError(f"unsupported index type '{type_name(index)}' in list")
    return Optional(items[int(index)]) if 0 <= index < len(items) else NONE
