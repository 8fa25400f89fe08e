"""Resource quantities such as `500m`, `1.5Gi` and `2e3`: parsing, comparing and formatting them as Kubernetes does.

    parse("1.5Gi")         Fraction(1610612736)
    canonical("0.5")       "500m"
    canonical("1024Ki")    "1Mi"

Values are exact. A value finer than a billionth is rounded away from zero; a value beyond 2**63-1 becomes 2**63-1. A text of a
million digits costs no more than reading it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]{1,18}))?")
_BINARY = {suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_MAX_VALUE = 2**63 - 1
_NANO = 10**9
_KEPT_DIGITS = 40  # more than the range from a billionth to 2**63 has: further digits only decide the rounding


def is_quantity(value: Any) -> bool:
    """Returns whether a JSON value can be read as a quantity."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return True
    return isinstance(value, str) and _match(value) is not None


def parse(value: str | float) -> Fraction:
    """Returns the value of a quantity. Raises `ValueError` if it is not a quantity."""
    match = _match(str(value))
    if match is None:
        raise ValueError(f"{value!r} is not a quantity: write a number with a suffix such as m, k, M, Ki, Mi or Gi")
    sign, whole, fraction, binary, decimal, exponent = match.groups(default="")
    power = int(exponent) if exponent else _DECIMAL[decimal]
    size = _bounded(whole.lstrip("0"), fraction, power=power, factor=_BINARY.get(binary, 1))
    return -size if sign == "-" else size


def value_or_zero(value: Any) -> Fraction:
    """Returns the value of a quantity, or zero if it is not one: validation rejects non-quantities before this is used."""
    return parse(value) if is_quantity(value) else Fraction(0)


def canonical(value: str | float) -> str:
    """Returns the canonical form of a quantity: the largest suffix that leaves a whole number, of the family it was written in.

    A binary quantity that no binary suffix fits (687.5Ki is 704000) is formatted as a decimal one, and is read back as one.
    """
    size = parse(value)
    match = _match(str(value))
    if match is not None and match[4] and abs(size) >= 1024 and size.denominator == 1 and size % 1024 == 0:
        return _format_binary(int(size))
    number, exponent = _decimal_parts(size)
    if match is not None and match[6] is not None:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_SUFFIXES[exponent]}"


def is_binary(value: str | float) -> bool:
    """Returns whether the quantity is written with a binary suffix such as Ki."""
    match = _match(str(value))
    return match is not None and match[4] is not None


def format_quantity(size: Fraction, *, is_binary: bool) -> str:
    """Returns the canonical form of a value in its family. A binary value is a whole number from 1024 on, and decimal below."""
    if is_binary and abs(size) >= 1024:
        whole = -(-size // 1)
        return _format_binary(int(whole))
    number, exponent = _decimal_parts(size)
    return f"{number}{_SUFFIXES[exponent]}"


def _match(text: str) -> re.Match[str] | None:
    match = _QUANTITY.fullmatch(text.strip())
    return match if match and (match[2] or match[3]) else None


def _bounded(whole: str, fraction: str, *, power: int, factor: int) -> Fraction:
    """Returns whole.fraction * 10**power * factor, in nano units and within range, without huge intermediate numbers."""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return Fraction(0)
    magnitude = len(digits) - len(fraction) + power  # number of digits before the point
    if magnitude > _KEPT_DIGITS:
        return Fraction(_MAX_VALUE)
    if magnitude < -_KEPT_DIGITS:
        return Fraction(1, _NANO)
    kept = digits[:_KEPT_DIGITS] + ("1" if digits[_KEPT_DIGITS:].strip("0") else "")
    size, exponent = int(kept) * factor, magnitude - len(kept) + 9
    nano = size * 10**exponent if exponent >= 0 else -(-size // 10**-exponent)
    return Fraction(min(nano, _MAX_VALUE * _NANO), _NANO)


def _decimal_parts(size: Fraction) -> tuple[int, int]:
    if size == 0:
        return 0, 0
    number, exponent = int(size * _NANO), -9
    while number % 1000 == 0 and exponent < 18:
        number, exponent = number // 1000, exponent + 3
    return number, exponent


def _format_binary(size: int) -> str:
    suffix = ""
    for candidate in _BINARY:
        if size % 1024:
            break
        size, suffix = size // 1024, candidate
    return f"{size}{suffix}"
