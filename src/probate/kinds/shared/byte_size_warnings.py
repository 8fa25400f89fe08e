"""Warns about amounts in bytes that are not integers."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import quantities
from probate.api.field_errors import FieldPath
from probate.kinds.shared.field_checks import Value

_FRACTIONAL = frozenset("mun.eE")
"""Characters of quantities that can be fractions. Most quantities have none of them and are not parsed."""


def may_be_fractional(amounts: Value | None) -> bool:
    """Reports whether one of the amounts, except those of CPU, is written in a way that can mean a fraction."""
    return any(name != "cpu" and not _FRACTIONAL.isdisjoint(str(value)) for name, value in amounts.items()) if amounts else False


def of_sizes(amounts: Value | None, path: FieldPath, *names: str) -> Iterator[str]:
    """Yields the warnings about the amounts with these names."""
    for name in names if amounts else ():
        value = amounts.get(name) if amounts else None
        if value is not None and not _FRACTIONAL.isdisjoint(str(value)) and _has_fraction(value):
            shown = quantities.canonical(value)
            yield f'{path @ name}: fractional byte value "{shown}" is invalid, and only whole bytes count'


def _has_fraction(value: str | float) -> bool:
    """Reports whether the quantity is not an integer, at a resolution of a thousandth."""
    thousandths = -(-quantities.value_or_zero(value) * 1000 // 1)
    return thousandths % 1000 != 0
