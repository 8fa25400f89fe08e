"""Adds quantities, and writes a sum as Kubernetes does: in the suffix family of the first term that is not zero.

spelled({"cpu": amount("500m")})      {"cpu": "500m"}
amount("1Gi") + amount("512Mi")       1536Mi
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from probate.api import quantities


class Amount(NamedTuple):
    """A quantity for arithmetic."""

    size: Fraction
    is_binary: bool = False

    def plus(self, other: Amount) -> Amount:
        return Amount(self.size + other.size, self.is_binary if self.size else other.is_binary)

    def minus(self, other: Amount) -> Amount:
        return Amount(self.size - other.size, self.is_binary if self.size else other.is_binary)

    def __str__(self) -> str:
        return quantities.format_quantity(self.size, is_binary=self.is_binary)


Amounts = dict[str, Amount]

ZERO = Amount(Fraction(0))
ONE = Amount(Fraction(1))


@functools.lru_cache(maxsize=4096)
def amount(text: str) -> Amount:
    """Returns the amount of a quantity."""
    return Amount(quantities.value_or_zero(text), quantities.is_binary(text))


def read(given: Mapping[str, Any] | None) -> Amounts:
    """Returns the amounts of a resource list."""
    return {name: amount(str(value)) for name, value in (given or {}).items()}


def add_up(parts: Iterable[Amounts]) -> Amounts:
    """Returns the sum of resource lists."""
    found: Amounts = {}
    for part in parts:
        for name, value in part.items():
            found[name] = found[name].plus(value) if name in found else value
    return found


def larger_amounts(one: Amounts, other: Amounts) -> Amounts:
    """Returns the larger amount of each resource."""
    return {name: max(one.get(name, ZERO), other.get(name, ZERO), key=lambda value: value.size) for name in one | other}


def subtract(one: Amounts, other: Amounts) -> Amounts:
    """Returns the difference of two resource lists."""
    return {name: one.get(name, ZERO).minus(other.get(name, ZERO)) for name in one | other}


def format_amounts(amounts: Amounts) -> str:
    """Returns the amounts as messages list them."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
