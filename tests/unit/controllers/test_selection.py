"""The setting `controllers`."""

from __future__ import annotations

import pytest

from probate.controllers import registry
from probate.controllers.selection import select
from probate.core import errors

COLLECTOR, JOBS, DEPLOYMENTS = "garbage-collector-controller", "job-controller", "deployment-controller"


def all_but(*names: str) -> list[str]:
    return [name for name in registry.DEFAULT_NAMES if name not in names]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", [*registry.DEFAULT_NAMES]),
        ("*", [*registry.DEFAULT_NAMES]),
        ("none", []),
        (JOBS, [JOBS]),
        (f"{JOBS}, {COLLECTOR}", [COLLECTOR, JOBS]),
        (f"all,-{JOBS}", all_but(JOBS)),
        (f"*,-{JOBS},-{COLLECTOR}", all_but(JOBS, COLLECTOR)),
        (f"-{JOBS}", all_but(JOBS)),
        (f"-{JOBS},{JOBS}", [*registry.DEFAULT_NAMES]),
        (f"none,{DEPLOYMENTS}", [DEPLOYMENTS]),
    ],
)
def test_selected_controllers(text: str, expected: list[str]) -> None:
    assert select(text) == expected


def test_controller_that_is_off_by_default_runs_only_if_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    by_default = [*registry.DEFAULT_NAMES]
    monkeypatch.setattr(registry, "DEFAULT_NAMES", tuple(all_but(JOBS)))
    assert select("all") == select("*") == select(f"-{JOBS}") == all_but(JOBS)
    assert select(f"-{DEPLOYMENTS}") == all_but(JOBS, DEPLOYMENTS)
    assert select(f"all,{JOBS}") == by_default
    assert select(JOBS) == [JOBS]


@pytest.mark.parametrize("row", [row for row in registry.CONTROLLERS if row.alias], ids=lambda row: row.name)
def test_earlier_names_are_accepted(row: registry.Controller) -> None:
    assert select(row.alias) == select(row.name) == [row.name]
    assert select(f"-{row.alias}") == select(f"-{row.name}") == all_but(row.name)


@pytest.mark.parametrize("text", ["", "pods", f"all,{JOBS},pods", f"{JOBS},all", f"{JOBS},", "-", "-pods", f"{JOBS},*"])
def test_unknown_names_are_refused(text: str) -> None:
    with pytest.raises(errors.CannotOpen, match=r"is not a controller\. Give all, none, or names of garbage-collector-controller"):
        select(text)
