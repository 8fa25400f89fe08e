"""Schedules: what is one, and when it comes round next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.lib import cron

START = datetime(2026, 2, 27, 10, 7, 30, tzinfo=UTC)


def next_after(schedule: str, moment: datetime = START) -> datetime | None:
    return cron.parse(schedule).next_after(moment)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", "2026-02-27T10:08"),
        ("*/5 * * * *", "2026-02-27T10:10"),
        ("0 0 * * *", "2026-02-28T00:00"),
        ("@hourly", "2026-02-27T11:00"),
        ("@daily", "2026-02-28T00:00"),
        ("@midnight", "2026-02-28T00:00"),
        ("@weekly", "2026-03-01T00:00"),
        ("@monthly", "2026-03-01T00:00"),
        ("@yearly", "2027-01-01T00:00"),
        ("7 10 * * *", "2026-02-28T10:07"),
        ("8-20/4 10 * * *", "2026-02-27T10:08"),
        ("30 9 * * mon-FRI", "2026-03-02T09:30"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("0 0 31 * *", "2026-03-31T00:00"),
        ("0 12 13 * 5", "2026-02-27T12:00"),
        ("0 12 13 * ?", "2026-03-13T12:00"),
        ("0 12 */1 * 0", "2026-03-01T12:00"),
        ("0 0 1 jan,JUL *", "2026-07-01T00:00"),
        ("50/5 10 * * *", "2026-02-27T10:50"),
        ("@every 1h30m", "2026-02-27T11:37:30"),
    ],
)
def test_next_time(schedule: str, expected: str) -> None:
    assert next_after(schedule) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_day_that_never_comes_has_no_next_time() -> None:
    assert next_after("0 0 30 2 *") is None


@pytest.mark.parametrize(
    "schedule",
    [
        "often",
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "-1 * * * *",
        "1.5 * * * *",
        "@never",
        "@every",
        "@every soon",
        "TZ=Nowhere/Land * * * * *",
        "* * * * mon-",
    ],
)
def test_no_schedule(schedule: str) -> None:
    with pytest.raises(cron.BadSchedule):
        cron.parse(schedule)


def test_a_schedule_with_a_zone_answers_in_the_zone_it_is_asked_in() -> None:
    assert next_after("TZ=Asia/Tokyo 0 9 * * *") == datetime(2026, 2, 28, 0, 0, tzinfo=UTC)
    assert cron.has_zone("CRON_TZ=Asia/Tokyo 0 9 * * *")


def test_a_time_that_summer_time_skips_does_not_come_round_that_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = next_after("30 2 * * *", datetime(2026, 3, 28, 12, 0, tzinfo=berlin))
    assert found == datetime(2026, 3, 30, 2, 30, tzinfo=berlin)


def test_an_hour_that_comes_twice_is_gone_through_twice() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first = next_after("30 2 * * *", datetime(2026, 10, 25, 0, 0, tzinfo=berlin))
    assert first is not None
    second = next_after("30 2 * * *", first)
    assert second is not None
    assert second.astimezone(UTC) - first.astimezone(UTC) == timedelta(hours=1)


def test_midnight_that_summer_time_skips_is_passed_over() -> None:
    found = next_after("0 * * * *", datetime(2026, 4, 23, 23, 30, tzinfo=ZoneInfo("Africa/Cairo")))
    assert found is not None
    assert found.astimezone(UTC) == datetime(2026, 4, 23, 22, 0, tzinfo=UTC)


_FIELDS = (st.integers(0, 59), st.integers(0, 23), st.integers(1, 28), st.integers(1, 12))


@given(*(field.map(str) | st.just("*") for field in _FIELDS), st.integers(10**9, 2 * 10**9))
def test_the_next_time_is_later_and_fits_the_schedule(minute: str, hour: str, day: str, month: str, seconds: int) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    found = next_after(f"{minute} {hour} {day} {month} *", moment)
    assert found is not None
    assert found > moment
    values = zip((minute, hour, day, month), (found.minute, found.hour, found.day, found.month), strict=True)
    assert all(text in ("*", str(number)) for text, number in values)
    assert next_after(f"{minute} {hour} {day} {month} *", found - timedelta(seconds=1)) == found
