"""Kubernetes quantities: `quantity('1.5Gi').isGreaterThan(quantity('1G'))`. Exact decimal arithmetic."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, traversal
from probate.lib.cel.numbers import MAX_INT, MIN_INT

LIBRARY = Library()
function = LIBRARY.function

_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,4})?", re.ASCII)
_SUFFIXES = {
    "": Decimal(1),
    **{letter: Decimal(10) ** power for letter, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)},
    **{f"{letter}i": Decimal(1024) ** (index + 1) for index, letter in enumerate("KMGTPE")},
}
_EXACT = Context(prec=120)
_NANO = Decimal("1e-9")
MAX_TEXT = 100


class Quantity:
    """A resource quantity."""

    __slots__ = ("value",)
    cel_type = "kubernetes.Quantity"

    def __init__(self, value: Decimal) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def cel_less(self, other: Quantity) -> bool:
        return self.value < other.value

    def cel_shown(self) -> str:
        return f"{self.value.normalize(_EXACT):f}"


def parse(text: str) -> Quantity | None:
    """Parses a quantity; None if the text is invalid."""
    match = _TEXT.fullmatch(text) if len(text) <= MAX_TEXT else None
    if match is None or not (match[2] or match[3]):
        return None
    suffix = match[4] or ""
    scale = Decimal(10) ** int(suffix[1:]) if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei" else _SUFFIXES[suffix]
    number = _EXACT.multiply(Decimal(f"{match[1]}{match[2] or '0'}.{match[3] or '0'}"), scale)
    if abs(number) >= Decimal(10) ** 60:
        return None
    return Quantity(number.quantize(_NANO, rounding=ROUND_CEILING, context=_EXACT) if number.as_tuple().exponent < -9 else number)  # type: ignore[operator]


@function("quantity(string) -> Quantity", cost=traversal)
def _quantity(_: Meter, text: str) -> Quantity:
    found = parse(text)
    if found is None:
        raise CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return found


@function("isQuantity(string) -> bool", cost=traversal)
def _is_quantity(_: Meter, text: str) -> bool:
    return parse(text) is not None


@function("Quantity::sign() -> int")
def _sign(_: Meter, one: Quantity) -> int:
    return (one.value > 0) - (one.value < 0)


@function("Quantity::isInteger() -> bool")
def _is_integer(_: Meter, one: Quantity) -> bool:
    return one.value == one.value.to_integral_value() and MIN_INT <= one.value <= MAX_INT


@function("Quantity::asInteger() -> int")
def _as_integer(meter: Meter, one: Quantity) -> int:
    if not _is_integer(meter, one):
        raise CelError("cannot convert value to integer")
    return int(one.value)


@function("Quantity::asApproximateFloat() -> double")
def _as_float(_: Meter, one: Quantity) -> float:
    return float(one.value)


@function("Quantity::isGreaterThan(Quantity) -> bool")
def _is_greater(_: Meter, one: Quantity, other: Quantity) -> bool:
    return one.value > other.value


@function("Quantity::isLessThan(Quantity) -> bool")
def _is_less(_: Meter, one: Quantity, other: Quantity) -> bool:
    return one.value < other.value


@function("Quantity::compareTo(Quantity) -> int")
def _compare(_: Meter, one: Quantity, other: Quantity) -> int:
    return (one.value > other.value) - (one.value < other.value)


@function("Quantity::add(Quantity) -> Quantity", "Quantity::add(int) -> Quantity")
def _add(_: Meter, one: Quantity, other: Any) -> Quantity:
    return Quantity(_EXACT.add(one.value, _decimal(other)))


@function("Quantity::sub(Quantity) -> Quantity", "Quantity::sub(int) -> Quantity")
def _subtract(_: Meter, one: Quantity, other: Any) -> Quantity:
    return Quantity(_EXACT.subtract(one.value, _decimal(other)))


def _decimal(value: Any) -> Decimal:
    return value.value if isinstance(value, Quantity) else Decimal(value)
