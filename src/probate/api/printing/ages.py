"""Durations as kubectl shows them: the larger, the coarser.

     0 s  -  2 min   seconds               119s
          -  10 min  minutes and seconds   3m2s
          -  3 h     minutes               179m
          -  8 h     hours and minutes     7h59m
          -  2 d     hours                 47h
          -  8 d     days and hours        7d23h
          -  2 y     days                  729d
          -  8 y     years and days        2y30d
          on         years                 8y

A year has 365 days. The second unit is left out when it is nought: 3m, 2d.
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

_NO_TIME = -62135596800.0  # 0001-01-01T00:00:00Z is how "never" is spelt


def since(timestamp: Any, now: float) -> str:
    """How long ago that was; `<unknown>` where there is no time at all."""
    moment = seconds(timestamp)
    return UNKNOWN if moment is None else duration(now - moment)


def of(object_: dict[str, Any], now: float) -> str:
    """The object's age."""
    metadata = object_.get("metadata")
    return since(metadata.get("creationTimestamp"), now) if isinstance(metadata, dict) else UNKNOWN


def seconds(timestamp: Any) -> float | None:
    """An RFC 3339 timestamp as seconds since 1970. None if it is none, or stands for no time."""
    return _parsed(timestamp) if isinstance(timestamp, str) else None


@functools.lru_cache(maxsize=8192)  # the same objects are shown again and again
def _parsed(timestamp: str) -> float | None:
    try:
        moment = dt.datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    found = None if moment.tzinfo is None else moment.timestamp()
    return None if found == _NO_TIME else found


def duration(length: float) -> str:
    """The length in seconds as a short text. Clocks may differ by a second: only more is `<invalid>`."""
    whole = int(length)
    if whole < -1:
        return INVALID
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    return _short(whole) if whole < 2 * DAY else _long(whole)


def _short(whole: int) -> str:
    if whole < 10 * MINUTE:
        return _two(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, HOUR, "h", MINUTE, "m")
    return f"{whole // HOUR}h"


def _long(whole: int) -> str:
    if whole < 8 * DAY:
        return _two(whole, DAY, "d", HOUR, "h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _two(whole, YEAR, "y", DAY, "d")
    return f"{whole // YEAR}y"


def _two(whole: int, large: int, large_sign: str, small: int, small_sign: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_sign}" + (f"{rest}{small_sign}" if rest else "")
