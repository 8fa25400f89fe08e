"""Writes quantities in the fields of an object in canonical form; those of resources are rounded up to thousandths.

Clients that compare the sent object with the stored one (kubectl apply, server-side apply) see the canonical form. An invalid
quantity is not changed: validation rejects it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from probate.api import quantities
from probate.api.objects import Object
from probate.kinds.shared.object_fields import child

_LONGEST_KEPT = 64  # longer texts of users are converted each time and not cached


def normalize(parent: Object | None, *keys: str) -> None:
    """Writes the quantities in these fields in canonical form."""
    for key in keys:
        if parent is not None and quantities.is_quantity(parent.get(key)):
            parent[key] = quantities.canonical(parent[key])


def normalize_lists(parent: Object | None, *keys: str) -> None:
    """Writes the quantities in these resource maps in canonical form."""
    for key in keys:
        amounts = (None if parent is None else child(parent, key)) or {}
        for name, amount in amounts.items():
            if quantities.is_quantity(amount):
                text = str(amount)
                amounts[name] = _remembered(text) if len(text) <= _LONGEST_KEPT else _in_thousandths(text)


def format_amount(value: Fraction, like: object) -> str:
    """Returns the canonical form of an amount of resources, with suffixes of the same family as `like`."""
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
    """Returns the next integer away from zero."""
    whole = -(-abs(value) // 1)
    return whole if value >= 0 else -whole
