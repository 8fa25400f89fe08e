"""Times are formatted as Kubernetes formats them, and parsed back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import timestamps

FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and the last second of the years 1 to 9999."""


@pytest.mark.parametrize(
    ("moment", "second", "micro"),
    [
        (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000.25, "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.250000Z"),
        (1_700_000_000.999_999, "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.999999Z"),
        (FIRST, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_times_are_formatted_as_in_kubernetes(moment: float, second: str, micro: str) -> None:
    assert (timestamps.format_time(moment), timestamps.format_micro_time(moment)) == (second, micro)


@given(st.integers(FIRST, LAST))
def test_formatting_and_parsing_are_inverse(moment: int) -> None:
    assert (
        timestamps.parse_time(timestamps.format_time(moment))
        == timestamps.parse_time(timestamps.format_micro_time(moment))
        == moment
    )


def test_an_unset_time_is_not_past() -> None:
    assert not timestamps.is_past(None, 10)
    assert timestamps.is_past("1970-01-01T00:00:10Z", 10)
    assert not timestamps.is_past("1970-01-01T00:00:11Z", 10)
