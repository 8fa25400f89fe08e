"""Runs servers with one planted bug each: the history checks must find every bug."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linearizability import fault_plans, history_checks
from linearizability.history import Plan, load
from linearizability.history_runner import create_history, running
from linearizability.targets import EtcdTarget, Target

PLANTED = str(Path(__file__).with_name("planted.py"))
HISTORIES = 15
"""The number of histories within which a bug must be found."""


def find_problems(kind: type[Target], bug: str, folder: Path, plan: Callable[[int], Plan] = fault_plans.without_faults) -> str:
    """Returns the problems of the first history that has any. Also checks that they are the same after saving and loading."""
    target = kind(folder, program=(PLANTED, bug))
    with running(target) as loop:
        for seed in range(HISTORIES):
            history = loop.run(create_history(target, plan(seed)))
            if problems := history_checks.problems(history):
                assert history_checks.problems(load(history.save(folder / "history.json"))) == problems
                return "\n".join(problems)
    raise AssertionError("no problem was found")


@pytest.mark.parametrize("kind", [Target, EtcdTarget])
def test_stale_read_is_found(kind: type[Target], quick_path: Path) -> None:
    assert "none of these can come next" in find_problems(kind, "stale-read", quick_path)


@pytest.mark.parametrize("kind", [Target, EtcdTarget])
def test_lost_update_is_found(kind: type[Target], quick_path: Path) -> None:
    assert "none of these can come next" in find_problems(kind, "lost-update", quick_path)


@pytest.mark.parametrize("kind", [Target, EtcdTarget])
def test_skipped_event_is_found(kind: type[Target], quick_path: Path) -> None:
    assert "has no event" in find_problems(kind, "skipped-event", quick_path)


def test_permission_that_is_applied_too_long_is_found(quick_path: Path) -> None:
    assert "right/ann: violated" in find_problems(Target, "lasting-right", quick_path)


@pytest.mark.long
def test_permission_that_is_applied_too_long_is_found_on_etcd(quick_path: Path) -> None:
    assert "right/ann: violated" in find_problems(EtcdTarget, "lasting-right", quick_path, fault_plans.without_faults_long)
