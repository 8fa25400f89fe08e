"""Durations in kubectl's format: the longer, the coarser.

     0 s  -  2 min   seconds               119s
          -  10 min  minutes and seconds   3m2s
          -  3 h     minutes               179m
          -  8 h     hours and minutes     7h59m
          -  2 d     hours                 47h
          -  8 d     days and hours        7d23h
          -  2 y     days                  729d
          -  8 y     years and days        2y30d
          on         years                 8y

A year has 365 days. A second unit of zero is omitted: 3m, 2d.
"""

from __future__ import annotations

import datetime as dt
import functools
from typing import Any

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_NO_TIME = -62135596800.0  # 0001-01-01T00:00:00Z, Go's zero time, means "never"


def age_since(timestamp: Any, now: float) -> str:
    """Returns the time since a timestamp; `<unknown>` if there is no timestamp."""
    time = parse_timestamp(timestamp)
    return UNKNOWN if time is None else format_duration(now - time)


def object_age(object_: dict[str, Any], now: float) -> str:
    """Returns the object's age."""
    metadata = object_.get("metadata")
    return age_since(metadata.get("creationTimestamp"), now) if isinstance(metadata, dict) else UNKNOWN


def parse_timestamp(timestamp: Any) -> float | None:
    """Parses an RFC 3339 timestamp to seconds since the epoch. Returns None if it is invalid or means "never"."""
    return _parse(timestamp) if isinstance(timestamp, str) else None


@functools.lru_cache(maxsize=8192)  # the same objects are listed repeatedly
def _parse(timestamp: str) -> float | None:
    try:
        time = dt.datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    epoch_seconds = None if time.tzinfo is None else time.timestamp()
    return None if epoch_seconds == _NO_TIME else epoch_seconds


def format_duration(length: float) -> str:
    """Formats a duration in seconds. A negative one is `<invalid>`, unless it is within a second: clocks may differ by that."""
    whole = int(length)
    if whole < -1:
        return INVALID
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    return _format_hours(whole) if whole < 2 * DAY else _format_days(whole)


def _format_hours(whole: int) -> str:
    if whole < 10 * MINUTE:
        return _format_two_units(whole, large=MINUTE, large_sign="m", small=1, small_sign="s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _format_two_units(whole, large=HOUR, large_sign="h", small=MINUTE, small_sign="m")
    return f"{whole // HOUR}h"


def _format_days(whole: int) -> str:
    if whole < 8 * DAY:
        return _format_two_units(whole, large=DAY, large_sign="d", small=HOUR, small_sign="h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _format_two_units(whole, large=YEAR, large_sign="y", small=DAY, small_sign="d")
    return f"{whole // YEAR}y"


def _format_two_units(whole: int, *, large: int, large_sign: str, small: int, small_sign: str) -> str:
    remainder = whole % large // small
    return f"{whole // large}{large_sign}" + (f"{remainder}{small_sign}" if remainder else "")
