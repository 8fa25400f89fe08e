"""Moments as objects tell them: RFC 3339 in UTC, in whole seconds (Time) or with microseconds (MicroTime).

Not by `strftime`, which is slower and leaves names in the interpreter's caches.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime


def timestamp(moment: float) -> str:
    """A moment in whole seconds."""
    return _in_seconds(int(moment))


@functools.lru_cache(maxsize=64)
def _in_seconds(moment: int) -> str:
    """(Much happens within a second.)"""
    return _told(moment, "seconds")


def micro_time(moment: float) -> str:
    """A moment with its microseconds."""
    return _told(moment, "microseconds")


def _told(moment: float, precision: str) -> str:
    return f"{datetime.fromtimestamp(moment, UTC).replace(tzinfo=None).isoformat(timespec=precision)}Z"


def seconds(moment: str) -> float:
    """The moment that an object tells."""
    return datetime.fromisoformat(moment).timestamp()


def is_past(moment: str | None, now: float) -> bool:
    """Whether there is such a moment, and it is not in the future."""
    return moment is not None and seconds(moment) <= now
