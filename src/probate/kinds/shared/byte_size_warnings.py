"""Sizes in bytes that are no whole number of them."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import quantities
from probate.api.field_errors import Path
from probate.kinds.shared.field_checks import Value

_FRACTIONAL = frozenset("mun.eE")
"""What a quantity is written with if it can have a fraction: most have none of these, and are not read."""


def may_be_fractional(amounts: Value | None) -> bool:
    """Whether one of the amounts is written in a way that can mean a fraction, a processor's share aside."""
    return any(name != "cpu" and not _FRACTIONAL.isdisjoint(str(value)) for name, value in amounts.items()) if amounts else False


def of_sizes(amounts: Value | None, path: Path, *names: str) -> Iterator[str]:
    """About these of the amounts."""
    for name in names if amounts else ():
        value = amounts.get(name) if amounts else None
        if value is not None and not _FRACTIONAL.isdisjoint(str(value)) and _has_fraction(value):
            shown = quantities.canonical(value)
            yield f'{path @ name}: fractional byte value "{shown}" is invalid, and only whole bytes count'


def _has_fraction(value: str | float) -> bool:
    """Whether it has one that thousandths of a byte can tell."""
    thousandths = -(-quantities.value_of(value) * 1000 // 1)
    return thousandths % 1000 != 0
