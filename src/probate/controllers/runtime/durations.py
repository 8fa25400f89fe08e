"""Seconds from now until a time."""

from __future__ import annotations

GRAIN = 0.001
"""A time that is nearer than this counts as reached: a shorter sleep might end before the time that it was for."""


def until(time: float, now: float) -> float:
    """Returns in how many seconds it will be that time; 0 if it is or was."""
    return time - now if time - now > GRAIN else 0.0


def past(time: float, now: float) -> float:
    """Returns in how many seconds that time will be over; 0 if it is."""
    return time - now + GRAIN if time >= now else 0.0
