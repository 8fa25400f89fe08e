"""Time and MicroTime: RFC 3339 in UTC, in whole seconds (Time) or with microseconds (MicroTime).

`strftime` is not used: it is slower and leaves entries in the interpreter's caches.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime


def format_time(moment: float) -> str:
    """Formats seconds since the epoch as a Time, in whole seconds."""
    return _format_whole_seconds(int(moment))


@functools.lru_cache(maxsize=64)
def _format_whole_seconds(moment: int) -> str:
    """Fast path: caches the text, since many timestamps fall into the same second."""
    return _format(moment, "seconds")


def format_micro_time(moment: float) -> str:
    """Formats seconds since the epoch as a MicroTime."""
    return _format(moment, "microseconds")


def _format(moment: float, precision: str) -> str:
    return f"{datetime.fromtimestamp(moment, UTC).replace(tzinfo=None).isoformat(timespec=precision)}Z"


def parse_time(time: str) -> float:
    """Parses a Time or MicroTime to seconds since the epoch."""
    return datetime.fromisoformat(time).timestamp()


def is_past(time: str | None, now: float) -> bool:
    """Returns whether the time is set and not in the future."""
    return time is not None and parse_time(time) <= now
