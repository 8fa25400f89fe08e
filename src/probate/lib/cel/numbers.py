"""The 64-bit numbers: signed (Python's int), unsigned (`Uint`) and double (Python's float). A value out of range is an error."""

from __future__ import annotations

import math

from probate.lib.cel.errors import CelError

MIN_INT, MAX_INT, MAX_UINT = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
OVERFLOW = "integer overflow"


class Uint(int):
    """An unsigned integer. Python arithmetic on `Uint` values returns an int, so the caller converts the result back."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


def signed(value: int) -> int:
    """Returns the value if it fits into 64 bits, signed; otherwise raises `CelError`."""
    if MIN_INT <= value <= MAX_INT:
        return value
    raise CelError(OVERFLOW)


def unsigned(value: int) -> Uint:
    """Returns the value as `Uint` if it fits into 64 bits, unsigned; otherwise raises `CelError`."""
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise CelError("unsigned integer overflow")


def divide(a: int, b: int) -> int:
    """Divides and rounds toward zero, as Go does. Python rounds down."""
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    """Returns the remainder with the sign of the dividend, as Go does."""
    if b == 0:
        raise CelError("modulus by zero")
    return a - b * divide(a, b)


def quotient(a: float, b: float) -> float:
    """Divides doubles; division by zero follows IEEE 754."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def from_float(value: float) -> int:
    """Truncates a double to a signed integer.

    Values at the limits of the range are errors too, as in Go, where they are indistinguishable from values beyond.
    """
    if math.isnan(value) or not MIN_INT < value < MAX_INT:
        raise CelError(OVERFLOW)
    return int(value)


def is_number(value: object) -> bool:
    """Returns whether the value is one of the three number types. Python's True is a number only in Python."""
    kind = type(value)
    return kind is int or kind is float or kind is Uint
