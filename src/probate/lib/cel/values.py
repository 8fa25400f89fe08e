"""The runtime values of expressions: equality, order, types and map keys.

    bool, int, float, str, bytes, None, list, dict      Python's own; a JSON document is a value without conversion
    Uint, Timestamp, Duration                           numbers and times
    Optional                                            an optional value
    TypeValue                                           the result of `type(x)`
    others (`library`)                                  have `cel_type`; Python's == defines their equality

Python treats True as equal to 1. Therefore all comparisons here check the types first, and `key` distinguishes the map keys true
and false from 1 and 0.
"""

from __future__ import annotations

import math
from typing import Any, Final

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.numbers import Uint
from probate.lib.cel.timestamps import Duration, Timestamp


class Optional:
    """An optional value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


NONE: Final = Optional(None)
"""The empty optional."""


class TypeValue:
    """A type as a value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class SetList(list[Any]):
    """A list whose order is irrelevant: x-kubernetes-list-type: set."""

    __slots__ = ()


class MapList(list[Any]):
    """A list whose items are identified by keys: x-kubernetes-list-type: map."""

    __slots__ = ("keys",)
    keys: tuple[str, ...]


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
}
_NUMBERS = (int, float, Uint)
_TRUE, _FALSE = object(), object()


def type_name(value: Any) -> str:
    """Returns the name of the value's type."""
    return _NAMES.get(type(value)) or str(getattr(value, "cel_type", "dyn"))


def key(value: Any) -> Any:
    """Returns the value as a dict key. Raises `CelError` if maps cannot have such keys."""
    kind = type(value)
    if kind is str:
        return value
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind in _NUMBERS:
        return value
    raise CelError(f"unsupported key type: {type_name(value)}")


def of_key(dict_key: Any) -> Any:
    """Returns the value from which `key` created this dict key."""
    return dict_key is _TRUE if dict_key is _TRUE or dict_key is _FALSE else dict_key


def equal(a: Any, b: Any, meter: Meter) -> bool:
    """Returns whether two values are equal. Values of different types are unequal, except numbers."""
    left, right = type(a), type(b)
    if left is str or right is str:
        return left is right and bool(a == b)
    if left in _NUMBERS:
        return right in _NUMBERS and bool(a == b)
    if isinstance(a, list):
        return isinstance(b, list) and _equal_lists(a, b, meter)
    if isinstance(a, dict):
        return isinstance(b, dict) and _equal_maps(a, b, meter)
    if left is not right:
        return False
    if left is Optional:
        if a is NONE or b is NONE:
            return a is b
        meter.charge(1)
        return equal(a.value, b.value, meter)
    return bool(a == b)


def _equal_lists(a: list[Any], b: list[Any], meter: Meter) -> bool:
    if len(a) != len(b):
        return False
    meter.charge(1 + len(a) // 10)
    if type(a) is SetList or type(b) is SetList:
        return all(contains(b, one, meter) for one in a)
    if type(a) is MapList:
        return _equal_by_keys(a, b, meter)
    return all(_equal_part(one, other, meter) for one, other in zip(a, b, strict=True))


def _equal_by_keys(a: MapList, b: list[Any], meter: Meter) -> bool:
    known = {identity(one, a.keys): one for one in b}
    return all(_equal_part(one, known.get(identity(one, a.keys), NONE), meter) for one in a)


def identity(item: Any, keys: tuple[str, ...]) -> Any:
    """Returns the identity of a list item: the values of its keys."""
    if not isinstance(item, dict):
        return repr(item)
    return tuple(repr(item.get(name)) for name in keys)


def _equal_maps(a: dict[Any, Any], b: dict[Any, Any], meter: Meter) -> bool:
    if len(a) != len(b):
        return False
    meter.charge(1 + len(a) // 10)
    return all(name in b and _equal_part(one, b[name], meter) for name, one in a.items())


def _equal_part(a: Any, b: Any, meter: Meter) -> bool:
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        meter.charge(1)
    elif isinstance(a, str) and isinstance(b, str):
        meter.charge(min(len(a), len(b)) // 10)
    return equal(a, b, meter)


def contains(items: list[Any], value: Any, meter: Meter) -> bool:
    """Returns whether a list contains the value."""
    meter.charge(len(items))
    if type(value) is str:
        return value in items  # fast path: for strings, Python's equality is CEL's
    return any(_equal_part(one, value, meter) for one in items)


def less(a: Any, b: Any) -> bool:
    """Returns whether `a` orders before `b`. Raises `NoOverload` if the types have no order."""
    left, right = type(a), type(b)
    if left in _NUMBERS and right in _NUMBERS:
        return bool(a < b)
    if left is right and left in (str, bytes, Timestamp, Duration):
        return bool(a < b)
    if left is bool and right is bool:
        return not a and b
    compare = getattr(a, "cel_less", None)
    if compare is not None and left is right:
        return bool(compare(b))
    raise NoOverload("_<_")


def is_nan(value: Any) -> bool:
    """Returns whether the value is NaN."""
    return type(value) is float and math.isnan(value)


def size(value: Any) -> int:
    """Returns the size of a value for cost calculations: the length of a string, bytes, list or map; otherwise 1."""
    return len(value) if isinstance(value, str | bytes | list | dict) else 1
