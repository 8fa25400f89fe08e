"""Seconds from now until a time."""

from __future__ import annotations

GRAIN = 0.001
"""A time that is nearer than this counts as reached, because a shorter sleep might end too early."""


def until(time: float, now: float) -> float:
    """Returns the seconds until a time is reached; 0 if it has been."""
    return time - now if time - now > GRAIN else 0.0


def past(time: float, now: float) -> float:
    """Returns the seconds until a time has passed; 0 if it has."""
    return time - now + GRAIN if time >= now else 0.0
