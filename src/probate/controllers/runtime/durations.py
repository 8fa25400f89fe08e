"""How long it is until a time comes."""

from __future__ import annotations

GRAIN = 0.001
"""What is nearer than this is now: a wait for less might end before the time that it was for."""


def until(moment: float, now: float) -> float:
    """In how many seconds it will be that time; 0 if it is, or was."""
    return moment - now if moment - now > GRAIN else 0.0


def past(moment: float, now: float) -> float:
    """In how many seconds that time will be over; 0 if it is."""
    return moment - now + GRAIN if moment >= now else 0.0
