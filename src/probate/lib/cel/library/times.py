"""Functions of timestamps and durations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.functions import Library
from probate.lib.cel.timestamps import SECOND, Duration, Timestamp, zone

LIBRARY = Library()

_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: (at.weekday() + 1) % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
_UNITS = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND}


def _declare_part(name: str, part: Callable[[datetime], int]) -> None:
    @LIBRARY.function(f"timestamp::{name}() -> int")
    def _in_utc(_: Meter, value: Timestamp) -> int:
        return part(value.at(zone("UTC")))

    @LIBRARY.function(f"timestamp::{name}(string) -> int")
    def _in_zone(_: Meter, value: Timestamp, name: str) -> int:
        return part(value.at(zone(name)))


def _declare_unit(name: str, unit: int) -> None:
    @LIBRARY.function(f"duration::{name}() -> int")
    def _in_unit(_: Meter, value: Duration) -> int:
        whole = abs(value.ns) // unit
        return whole if value.ns >= 0 else -whole


for _name, _part in _PARTS.items():
    _declare_part(_name, _part)
for _name, _unit in _UNITS.items():
    _declare_unit(_name, _unit)


@LIBRARY.function("timestamp::getMilliseconds() -> int")
def _milliseconds(_: Meter, value: Timestamp) -> int:
    return value.ns % SECOND // 1_000_000


@LIBRARY.function("timestamp::getMilliseconds(string) -> int")
def _milliseconds_in(_: Meter, value: Timestamp, name: str) -> int:
    zone(name)
    return value.ns % SECOND // 1_000_000


@LIBRARY.function("duration::getMilliseconds() -> int")
def _milliseconds_of(_: Meter, value: Duration) -> int:
    whole = abs(value.ns) // 1_000_000
    return whole if value.ns >= 0 else -whole
