"""The math extension of CEL."""

from __future__ import annotations

import math
from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.functions import Library, first
from probate.lib.cel.numbers import MAX_UINT, MIN_INT, OVERFLOW, Uint, is_number
from probate.lib.cel.values import is_nan, less

LIBRARY = Library()
function = LIBRARY.function

MOST_ARGUMENTS = 10
_NUMBERS = ("int", "uint", "double")


def _of_several(name: str) -> list[str]:
    lists = [f"{name}(list<{kind}>) -> {kind}" for kind in (*_NUMBERS, "dyn")]
    same = [f"{name}({', '.join([kind] * count)}) -> {kind}" for kind in _NUMBERS for count in range(1, MOST_ARGUMENTS)]
    return [*lists, *same, *(f"{name}({', '.join(['dyn'] * count)}) -> dyn" for count in range(2, MOST_ARGUMENTS))]


@function(*_of_several("math.greatest"), cost=first)
def _greatest(_: Meter, *args: Any) -> Any:
    return _extreme(args, "greatest")


@function(*_of_several("math.least"), cost=first)
def _least(_: Meter, *args: Any) -> Any:
    return _extreme(args, "least")


def _extreme(args: tuple[Any, ...], name: str) -> Any:
    given = args[0] if len(args) == 1 and isinstance(args[0], list) else args
    if not given:
        raise CelError(f"math.@{name}() argument must not be empty")
    if not all(map(is_number, given)):
        raise NoOverload(f"math.{name}")
    found = given[0]
    for one in given[1:]:
        if less(one, found) if name == "least" else less(found, one):
            found = one
    return found


@function("math.abs(int) -> int", "math.abs(double) -> double")
def _abs(_: Meter, value: Any) -> Any:
    if value == MIN_INT and type(value) is int:
        raise CelError(OVERFLOW)
    return abs(value)


@function("math.abs(uint) -> uint")
def _same(_: Meter, value: Uint) -> Uint:
    return value


@function("math.ceil(double) -> double")
def _ceil(_: Meter, value: float) -> float:
    return float(math.ceil(value)) if math.isfinite(value) else value


@function("math.floor(double) -> double")
def _floor(_: Meter, value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value


@function("math.trunc(double) -> double")
def _trunc(_: Meter, value: float) -> float:
    return float(math.trunc(value)) if math.isfinite(value) else value


@function("math.round(double) -> double")
def _round(_: Meter, value: float) -> float:
    """Rounds half away from zero."""
    return math.copysign(math.floor(abs(value) + 0.5), value) if math.isfinite(value) else value


@function("math.sqrt(double) -> double", "math.sqrt(int) -> double", "math.sqrt(uint) -> double")
def _sqrt(_: Meter, value: Any) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


@function("math.sign(int) -> int", "math.sign(double) -> double")
def _sign(_: Meter, value: Any) -> Any:
    if is_nan(value):
        return value
    return type(value)((value > 0) - (value < 0))


@function("math.sign(uint) -> uint")
def _sign_unsigned(_: Meter, value: Uint) -> Uint:
    return Uint(value > 0)


@function("math.isNaN(double) -> bool")
def _is_nan(_: Meter, value: float) -> bool:
    return math.isnan(value)


@function("math.isInf(double) -> bool")
def _is_infinite(_: Meter, value: float) -> bool:
    return math.isinf(value)


@function("math.isFinite(double) -> bool")
def _is_finite(_: Meter, value: float) -> bool:
    return math.isfinite(value)


def _wrapped(value: int, kind: type) -> Any:
    """Truncates a value to its low 64 bits."""
    low = value & MAX_UINT
    return Uint(low) if kind is Uint else low - (1 << 64) if low >> 63 else low


@function("math.bitAnd(int, int) -> int", "math.bitAnd(uint, uint) -> uint")
def _bit_and(_: Meter, a: int, b: int) -> Any:
    return _wrapped(int(a) & int(b), type(a))


@function("math.bitOr(int, int) -> int", "math.bitOr(uint, uint) -> uint")
def _bit_or(_: Meter, a: int, b: int) -> Any:
    return _wrapped(int(a) | int(b), type(a))


@function("math.bitXor(int, int) -> int", "math.bitXor(uint, uint) -> uint")
def _bit_xor(_: Meter, a: int, b: int) -> Any:
    return _wrapped(int(a) ^ int(b), type(a))


@function("math.bitNot(int) -> int", "math.bitNot(uint) -> uint")
def _bit_not(_: Meter, a: int) -> Any:
    return _wrapped(~int(a), type(a))


@function("math.bitShiftLeft(int, int) -> int", "math.bitShiftLeft(uint, int) -> uint")
def _shift_left(_: Meter, a: int, by: int) -> Any:
    return _wrapped(int(a) << by, type(a)) if _shift(by) < 64 else type(a)(0)


@function("math.bitShiftRight(int, int) -> int", "math.bitShiftRight(uint, int) -> uint")
def _shift_right(_: Meter, a: int, by: int) -> Any:
    return _wrapped((int(a) & MAX_UINT) >> by, type(a)) if _shift(by) < 64 else type(a)(0)


def _shift(by: int) -> int:
    if by < 0:
        raise CelError(f"math.bitShift() negative offset: {by}")
    return by
