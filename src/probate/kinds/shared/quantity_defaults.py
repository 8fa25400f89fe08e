"""Amounts in the fields of an object, in their one spelling; those of resources rounded up to thousandths.

Whoever compares what was sent with what is stored (kubectl apply, server-side apply) sees this spelling. What is no amount is left
as it is: the checks refuse it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from probate.api import quantities
from probate.kinds.shared.object_fields import Object, child

_LONGEST_KEPT = 64  # texts of users that are longer are spelled again each time, not remembered


def settle(parent: Object | None, *keys: str) -> None:
    """Spell the amounts in these fields."""
    for key in keys:
        if parent is not None and quantities.is_quantity(parent.get(key)):
            parent[key] = quantities.canonical(parent[key])


def settle_lists(parent: Object | None, *keys: str) -> None:
    """Spell the amounts in these maps of resources."""
    for key in keys:
        amounts = (None if parent is None else child(parent, key)) or {}
        for name, amount in amounts.items():
            if quantities.is_quantity(amount):
                text = str(amount)
                amounts[name] = _remembered(text) if len(text) <= _LONGEST_KEPT else _in_thousandths(text)


def spell(value: Fraction, like: object) -> str:
    """The spelling of an amount of resources, with suffixes of the family that another one has."""
    if isinstance(like, str) and like.endswith("i") and value.denominator == 1 and value.numerator % 1024 == 0:
        return quantities.canonical(f"{value.numerator // 1024}Ki")
    return quantities.canonical(f"{_rounded_up(value * 1000)}m")


def _in_thousandths(text: str) -> str:
    value = quantities.parse(text) * 1000
    if value.denominator == 1:
        return quantities.canonical(text)
    is_exponent = "e" in text.lower()
    return quantities.canonical(f"{_rounded_up(value)}e-3" if is_exponent else f"{_rounded_up(value)}m")


_remembered = lru_cache(maxsize=4096)(_in_thousandths)


def _rounded_up(value: Fraction) -> int:
    """The next whole number away from zero."""
    whole = -(-abs(value) // 1)
    return whole if value >= 0 else -whole
