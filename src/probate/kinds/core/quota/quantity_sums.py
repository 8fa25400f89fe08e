"""Sums of quantities, spelled as Kubernetes spells a sum: in the family of the first that is not zero.

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
    """A quantity that can be reckoned with."""

    size: Fraction
    is_binary: bool = False

    def plus(self, other: Amount) -> Amount:
        return Amount(self.size + other.size, self.is_binary if self.size else other.is_binary)

    def minus(self, other: Amount) -> Amount:
        return Amount(self.size - other.size, self.is_binary if self.size else other.is_binary)

    def __str__(self) -> str:
        return quantities.spelled(self.size, is_binary=self.is_binary)


Amounts = dict[str, Amount]

ZERO = Amount(Fraction(0))
ONE = Amount(Fraction(1))


@functools.lru_cache(maxsize=4096)
def amount(text: str) -> Amount:
    """The amount that a quantity says."""
    return Amount(quantities.value_of(text), quantities.is_binary(text))


def read(given: Mapping[str, Any] | None) -> Amounts:
    """The amounts of a list of resources."""
    return {name: amount(str(value)) for name, value in (given or {}).items()}


def total(parts: Iterable[Amounts]) -> Amounts:
    """What they are together."""
    found: Amounts = {}
    for part in parts:
        for name, value in part.items():
            found[name] = found[name].plus(value) if name in found else value
    return found


def most(one: Amounts, other: Amounts) -> Amounts:
    """The larger of each."""
    return {name: max(one.get(name, ZERO), other.get(name, ZERO), key=lambda value: value.size) for name in one | other}


def less(one: Amounts, other: Amounts) -> Amounts:
    """What is left of one without the other."""
    return {name: one.get(name, ZERO).minus(other.get(name, ZERO)) for name in one | other}


def told(amounts: Amounts) -> str:
    """As messages list them."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
