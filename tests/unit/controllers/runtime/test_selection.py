"""Which controllers run."""

from __future__ import annotations

import pytest

from probate.controllers.runtime.selection import chosen
from probate.core import errors

NAMES = ("collector", "jobs", "deployments")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("all", ["collector", "jobs", "deployments"]),
        ("none", []),
        ("jobs", ["jobs"]),
        ("deployments, collector", ["collector", "deployments"]),
        ("all,-jobs", ["collector", "deployments"]),
        ("-jobs", ["collector", "deployments"]),
        ("-jobs,-collector", ["deployments"]),
        ("none,jobs", ["jobs"]),
    ],
)
def test_names_are_taken_and_left_out(text: str, names: list[str]) -> None:
    assert chosen(text, NAMES) == names


@pytest.mark.parametrize("text", ["", "job", "all,none", "-nothing", "jobs,", "all,all"])
def test_what_is_no_controller_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(errors.CannotOpen, match=r"is no controller\. Give all, none, or names of collector, jobs, deployments"):
        chosen(text, NAMES)
