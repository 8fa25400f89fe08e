"""Moments are told as Kubernetes tells them, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import timestamps

FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Of the years 1 to 9999."""


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
def test_as_objects_tell_it(moment: float, second: str, micro: str) -> None:
    assert (timestamps.timestamp(moment), timestamps.micro_time(moment)) == (second, micro)


@given(st.integers(FIRST, LAST))
def test_what_is_told_is_read_back(moment: int) -> None:
    assert timestamps.seconds(timestamps.timestamp(moment)) == timestamps.seconds(timestamps.micro_time(moment)) == moment


def test_nothing_is_past_that_was_not_told() -> None:
    assert not timestamps.is_past(None, 10)
    assert timestamps.is_past("1970-01-01T00:00:10Z", 10)
    assert not timestamps.is_past("1970-01-01T00:00:11Z", 10)
