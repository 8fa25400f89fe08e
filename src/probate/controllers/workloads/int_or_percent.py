"""Amounts that are numbers, or percents of a whole."""

from __future__ import annotations

from typing import Any


def rounded_down(value: Any, whole: int) -> int:
    """A number, or that many percent of the whole, without what is over."""
    return int(value) if isinstance(value, int) else _percent(value) * whole // 100


def rounded_up(value: Any, whole: int) -> int:
    """A number, or that many percent of the whole; a part counts as one."""
    return int(value) if isinstance(value, int) else -(-_percent(value) * whole // 100)


def _percent(text: str) -> int:
    return int(text.removesuffix("%"))
