"""IntOrString values: a number, or a percentage of a total."""

from __future__ import annotations

from typing import Any


def round_down(value: Any, total: int) -> int:
    """Returns the number, or the percentage of the total rounded down."""
    return int(value) if isinstance(value, int) else _percent(value) * total // 100


def round_up(value: Any, total: int) -> int:
    """Returns the number, or the percentage of the total rounded up."""
    return int(value) if isinstance(value, int) else -(-_percent(value) * total // 100)


def _percent(text: str) -> int:
    return int(text.removesuffix("%"))
