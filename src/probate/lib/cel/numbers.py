"""Numbers of 64 bits: signed (Python's int), unsigned (`Uint`) and double (Python's float). What does not fit is an error."""

from __future__ import annotations

import math

from probate.lib.cel.errors import CelError

MIN_INT, MAX_INT, MAX_UINT = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
OVERFLOW = "integer overflow"


class Uint(int):
    """An unsigned number. What Python makes of two of them is an int: who calculates makes it a `Uint` again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


def signed(value: int) -> int:
    """The value, if it fits."""
    if MIN_INT <= value <= MAX_INT:
        return value
    raise CelError(OVERFLOW)


def unsigned(value: int) -> Uint:
    """The value, if it fits."""
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise CelError("unsigned integer overflow")


def divided(a: int, b: int) -> int:
    """Towards zero, as in Go. Python rounds down."""
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    """With the sign of the first, as in Go."""
    if b == 0:
        raise CelError("modulus by zero")
    return a - b * divided(a, b)


def quotient(a: float, b: float) -> float:
    """Doubles are divided by zero as IEEE 754 has it."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def from_float(value: float) -> int:
    """A double as a signed number, cut off. Those at the very ends are refused too, as in Go, where they cannot be told apart."""
    if math.isnan(value) or not MIN_INT < value < MAX_INT:
        raise CelError(OVERFLOW)
    return int(value)


def is_number(value: object) -> bool:
    """Whether it is one of the three kinds: Python's True is a number to Python only."""
    kind = type(value)
    return kind is int or kind is float or kind is Uint
