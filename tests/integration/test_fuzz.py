"""A short walk of `fuzz`, the same each time: `make fuzz` goes further, and elsewhere each time."""

from __future__ import annotations

import fuzz
from integration_server import serving


def test_whatever_is_asked_is_answered_soon_and_never_with_a_failure() -> None:
    with serving() as url:
        found = fuzz.fuzz(url, seconds=15, seed=7, is_quick=True)
    assert found.codes.total() > 0  # what is wrong with an answer is raised; how many there are is the machine's to say
