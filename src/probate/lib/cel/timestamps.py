"""Timestamps and durations with nanosecond precision, in the notation of RFC 3339 and Go."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache, total_ordering
from zoneinfo import ZoneInfo

from probate.lib.cel.errors import CelError
from probate.lib.cel.numbers import MAX_INT, MIN_INT

SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND - 1
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 1_000_000, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_DURATION_PART = re.compile(r"(\d{1,20})?(?:\.(\d{0,20}))?(ms|us|µs|μs|ns|h|m|s)", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


@total_ordering
class Duration:
    """A duration in nanoseconds, limited to 64 bits."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        if not MIN_INT <= ns <= MAX_INT:
            raise CelError("duration overflow")
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and other.ns == self.ns

    def __repr__(self) -> str:
        return f"Duration({self.ns})"

    def __lt__(self, other: Duration) -> bool:
        return self.ns < other.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def __str__(self) -> str:
        whole, part = divmod(abs(self.ns), SECOND)
        fraction = f".{part:09d}".rstrip("0") if part else ""
        return f"{'-' if self.ns < 0 else ''}{whole}{fraction}s"


@total_ordering
class Timestamp:
    """A point in time, in nanoseconds since 1970, within the years 1 to 9999."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        if not _FIRST <= ns <= _LAST:
            raise CelError("timestamp overflow")
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and other.ns == self.ns

    def __repr__(self) -> str:
        return f"Timestamp({self.ns})"

    def __lt__(self, other: Timestamp) -> bool:
        return self.ns < other.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def __str__(self) -> str:
        fraction = f".{self.ns % SECOND:09d}".rstrip("0") if self.ns % SECOND else ""
        return f"{self.at(UTC).strftime('%Y').zfill(4)}{self.at(UTC).strftime('-%m-%dT%H:%M:%S')}{fraction}Z"

    def at(self, zone: tzinfo) -> datetime:
        """Returns the time in a time zone, truncated to seconds."""
        try:
            return (_EPOCH + timedelta(seconds=self.ns // SECOND)).astimezone(zone)
        except (OverflowError, ValueError) as error:
            raise CelError("timestamp overflow") from error


def timestamp(text: str) -> Timestamp:
    """Parses a timestamp in RFC 3339 notation."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise CelError(f'cannot parse "{text[:60]}" as a timestamp')
    try:
        moment = datetime(*(int(match[group]) for group in range(1, 7)), tzinfo=UTC)  # type: ignore[arg-type,misc]
        offset = timedelta() if match[8] in "Zz" else _utc_offset(match[8])
    except ValueError as error:
        raise CelError(f'cannot parse "{text[:60]}" as a timestamp: {error}') from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset // timedelta(seconds=1)
    return Timestamp(seconds * SECOND + int((match[7] or "0").ljust(9, "0")))


def duration(text: str) -> Duration:
    """Parses a duration in Go notation: 1h30m, -1.5s, 10ms."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        match = _DURATION_PART.match(rest, at)
        if match is None or (not match[1] and not match[2]):
            break
        unit = _UNITS[match[3]]
        fraction = match[2] or ""
        total += int(match[1] or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        at = match.end()
    if not rest or at < len(rest):
        raise CelError(f'cannot parse "{text[:60]}" as a duration')
    return Duration(-total if text.startswith("-") else total)


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """Returns a time zone by its name or its UTC offset, such as `-08:00`."""
    match = _OFFSET.fullmatch(name)
    try:
        if match is not None:
            return timezone(_utc_offset(name if match[1] else f"+{name}"))
        return UTC if name in ("", "UTC", "Z") else ZoneInfo(name)
    except Exception:  # noqa: BLE001 zoneinfo does not document what it raises for a malicious name
        raise CelError(f"unknown time zone {name[:60]}") from None


def _utc_offset(text: str) -> timedelta:
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    return timedelta(hours=hours, minutes=minutes) * (-1 if text[0] == "-" else 1)
