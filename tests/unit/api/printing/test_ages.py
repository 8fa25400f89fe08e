"""Durations in kubectl's format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api.printers import ages

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (-2.1, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (5.99, "5s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (3 * MINUTE + 2, "3m2s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 30, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY - 1, "7d23h"),
        (12 * DAY + HOUR, "12d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 30 * DAY, "2y30d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 30 * DAY, "8y"),
        (40 * YEAR, "40y"),
    ],
)
def test_longer_durations_have_coarser_units(length: float, text: str) -> None:
    assert ages.format_duration(length) == text


@given(st.integers(min_value=0, max_value=100 * YEAR))
def test_a_formatted_duration_is_rounded_down_by_less_than_its_last_unit(length: int) -> None:
    units = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}
    digits, total, unit = "", 0, 1
    for char in ages.format_duration(length):
        if char.isdigit():
            digits += char
        else:
            unit = units[char]
            total, digits = total + int(digits) * unit, ""
    # An omitted second unit is at most as long as the first unit.
    assert total <= length < total + max(unit, 1)


@pytest.mark.parametrize("invalid", [None, "", "yesterday", 5, "2026-01-01", "2026-01-01T00:00:00", "0001-01-01T00:00:00Z"])
def test_the_age_of_an_invalid_time_is_unknown(invalid: object) -> None:
    assert ages.age_since(invalid, 0) == "<unknown>"


@pytest.mark.parametrize("time", ["2026-01-01T23:59:00Z", "2026-01-01T23:59:00.000000Z", "2026-01-02T00:59:00+01:00"])
def test_times_of_any_precision_and_time_zone_are_parsed(time: str) -> None:
    assert ages.age_since(time, 1767312000.0) == "60s"
