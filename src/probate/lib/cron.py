"""Cron schedules of CronJobs: parses them and computes the next activation time.

A schedule has five fields (minute, hour, day of month, month, day of week), or is a descriptor such as `@hourly`, or has the form
`@every 1h30m`. The syntax is that of the cron library that Kubernetes uses:

    */15 9-17 * * MON-FRI     every 15 minutes during working hours
    0 0 1,15 * ?              `?` is the same as `*`
    0 12 13 * FRI             both day fields restricted: a date that matches either one is allowed
    TZ=Asia/Tokyo 30 4 * * *  parsed here, although CronJobs reject it (they have spec.timeZone)

A schedule has no clock. `next_after` takes a time and returns the next activation time in the time zone of its argument. A local
time that a switch to daylight saving time skips is not an activation time on that day.
"""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple, Protocol

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
}
_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:h|ms|m|s|us|µs|ns))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?)(h|ms|m|s|us|µs|ns)")
_HORIZON_YEARS = 5
MAX_LENGTH = 1024
"""Maximum length of a schedule in characters. A schedule that lists every value of every field takes fewer than 500."""
MAX_ZONE_LENGTH = 255
"""Maximum length of a time zone name in characters. The name is looked up as a file, so the limit is that of file names."""
_MAX_SECONDS = 10**9


class BadSchedule(ValueError):
    """The text is not a valid schedule. The message names the invalid part and the reason."""


class Schedule(Protocol):
    """A rule that determines activation times."""

    def next_after(self, moment: datetime) -> datetime | None:
        """Returns the first activation time after `moment`, in the zone of `moment`; None if there is none within five years.

        `moment` must have a time zone.
        """
        ...


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: dict[str, int]


_FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 6, _DAYS),
)


class Calendar(NamedTuple):
    """A schedule of five fields; each field is the set of allowed values."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_any_day: bool
    is_any_weekday: bool
    zone: tzinfo | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        local = moment.astimezone(self.zone) if self.zone else moment
        following = self._next_local(local)
        return following.astimezone(moment.tzinfo) if following and self.zone else following

    def _next_local(self, moment: datetime) -> datetime | None:
        # The search advances in UTC, so it visits a repeated local hour twice and never visits a skipped one.
        zone = moment.tzinfo
        time = (moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)).astimezone(zone)
        last = time.year + _HORIZON_YEARS
        while time.year <= last:
            if not self._allows_date(time):
                time = _start_of_day_after(time)
            elif not self._allows_time(time):
                time = (time.astimezone(UTC) + timedelta(minutes=self._minutes_to_skip(time))).astimezone(zone)
            else:
                return time
        return None

    def _allows_date(self, time: datetime) -> bool:
        if time.month not in self.months:
            return False
        is_day, is_weekday = time.day in self.days, time.isoweekday() % 7 in self.weekdays
        return is_day and is_weekday if self.is_any_day or self.is_any_weekday else is_day or is_weekday

    def _allows_time(self, time: datetime) -> bool:
        return time.hour in self.hours and time.minute in self.minutes

    def _minutes_to_skip(self, time: datetime) -> int:
        # UTC offsets are multiples of 15 minutes, so the local hour changes only at such boundaries.
        return 1 if time.hour in self.hours else 15 - time.minute % 15


class Every(NamedTuple):
    """A schedule with a fixed interval, counted from the previous activation."""

    seconds: int

    def next_after(self, moment: datetime) -> datetime | None:
        try:
            return moment.replace(microsecond=0) + timedelta(seconds=self.seconds)
        except OverflowError:
            return None


def parse(text: str) -> Schedule:
    """Parses a schedule. Raises `BadSchedule` if the text is invalid.

    The controller parses the schedule at each reconciliation, on the event loop that all requests share, so texts longer than
    `MAX_LENGTH` are rejected before parsing.
    """
    if len(text) > MAX_LENGTH:
        raise BadSchedule(f"may not be more than {MAX_LENGTH} characters")
    zone, text = _parse_zone(text.strip())
    if text.startswith("@every "):
        return Every(_parse_duration(text.removeprefix("@every ").strip()))
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise BadSchedule(f"unrecognized descriptor: {text}")
    parts = _DESCRIPTORS.get(text, text).split()
    if len(parts) != len(_FIELDS):
        raise BadSchedule(f"expected exactly 5 fields, found {len(parts)}: {text}")
    minutes, hours, days, months, weekdays = (_parse_list(part, field) for part, field in zip(parts, _FIELDS, strict=True))
    return Calendar(minutes, hours, days, months, weekdays, _is_any(parts[2]), _is_any(parts[4]), zone)


def has_zone(text: str) -> bool:
    """Returns whether the schedule contains a time zone."""
    return "TZ" in text


def find_zone(name: str) -> tzinfo:
    """Returns the time zone with this name. Raises `BadSchedule` if it does not exist."""
    if len(name) > MAX_ZONE_LENGTH:
        raise BadSchedule(f"the name of a time zone may not be more than {MAX_ZONE_LENGTH} characters")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadSchedule(f"unknown time zone {name}") from error


def _parse_zone(text: str) -> tuple[tzinfo | None, str]:
    match = re.match(r"(?:CRON_)?TZ=(\S*)\s+", text)
    if match is None:
        return None, text
    return find_zone(match[1]), text[match.end() :]


def _parse_duration(text: str) -> int:
    if _DURATION.fullmatch(text) is None:
        raise BadSchedule(f"failed to parse duration @every {text}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(text))
    return max(1, int(min(seconds, _MAX_SECONDS)))  # float() of hundreds of digits is infinite, which int() rejects


def _is_any(part: str) -> bool:
    return any(item.split("/")[0] in {"*", "?"} and item.partition("/")[2] in {"", "1"} for item in part.split(","))


def _parse_list(text: str, field: _Field) -> frozenset[int]:
    allowed: set[int] = set()
    for part in filter(None, text.split(",")):
        allowed.update(_parse_range(part, field))
    return frozenset(allowed)


def _parse_range(text: str, field: _Field) -> range:
    span, slash, step_text = text.partition("/")
    first, dash, last = span.partition("-")
    step = _parse_number(step_text, text) if slash else 1
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")
    if span in {"*", "?"}:
        return range(field.low, field.high + 1, step)
    start = _parse_value(first, field, text)
    end = _parse_value(last, field, text) if dash else field.high if slash else start
    if start < field.low or end > field.high or start > end:
        raise BadSchedule(f"{field.name} is {field.low} to {field.high}, and a range goes upwards: {text}")
    return range(start, end + 1, step)


def _parse_value(text: str, field: _Field, whole: str) -> int:
    return field.names[text.lower()] if text.lower() in field.names else _parse_number(text, whole)


def _parse_number(text: str, whole: str) -> int:
    if re.fullmatch(r"[0-9]{1,9}", text) is None:
        raise BadSchedule(f"failed to parse int from {whole}")
    return int(text)


def _start_of_day_after(time: datetime) -> datetime:
    start = datetime.combine(time.date() + timedelta(days=1), datetime.min.time(), time.tzinfo)
    return start.astimezone(UTC).astimezone(time.tzinfo)  # if daylight saving time starts at midnight, the day starts at 01:00
