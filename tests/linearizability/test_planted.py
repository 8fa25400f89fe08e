"""Servers with one bug each, planted on purpose: the histories must find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linearizability import plans, verdict
from linearizability.history import Plan, load
from linearizability.play import play, running
from linearizability.targets import EtcdTarget, Target

PLANTED = str(Path(__file__).with_name("planted.py"))
HISTORIES = 15
"""Within how many histories a bug must be found."""


def found(kind: type[Target], bug: str, folder: Path, plan: Callable[[int], Plan] = plans.calm) -> str:
    """What the first history with a problem says of it. It says the same when it is saved and checked again."""
    target = kind(folder, program=(PLANTED, bug))
    with running(target) as loop:
        for seed in range(HISTORIES):
            history = loop.run(play(target, plan(seed)))
            if problems := verdict.problems(history):
                assert verdict.problems(load(history.save(folder / "history.json"))) == problems
                return "\n".join(problems)
    raise AssertionError("nothing was found")


@pytest.mark.parametrize("kind", [Target, EtcdTarget])
def test_stale_read_is_found(kind: type[Target], quick_path: Path) -> None:
    assert "none of these can come next" in found(kind, "stale-read", quick_path)


@pytest.mark.parametrize("kind", [Target, EtcdTarget])
def test_lost_update_is_found(kind: type[Target], quick_path: Path) -> None:
    assert "none of these can come next" in found(kind, "lost-update", quick_path)


@pytest.mark.parametrize("kind", [Target, EtcdTarget])
def test_event_that_is_skipped_is_found(kind: type[Target], quick_path: Path) -> None:
    assert "has no event" in found(kind, "skipped-event", quick_path)


def test_right_that_is_honoured_too_long_is_found(quick_path: Path) -> None:
    assert "right/ann: violated" in found(Target, "lasting-right", quick_path)


@pytest.mark.long
def test_right_that_is_honoured_too_long_is_found_on_etcd(quick_path: Path) -> None:
    assert "right/ann: violated" in found(EtcdTarget, "lasting-right", quick_path, plans.calm_and_long)
