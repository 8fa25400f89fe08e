"""Histories of one server on SQLite that is killed (SIGKILL) and paused (SIGSTOP) while clients use it: all are linearizable.

A permission starts and ends with the write that changes it: authorization decisions are part of the same order and never late.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linearizability import fault_plans
from linearizability.history_runner import LoopThread, check_plan, running
from linearizability.targets import Target

FEW = range(6)
MANY = range(6, 60)


@pytest.fixture(scope="module")
def target(store_path: Path) -> Target:
    return Target(store_path)


@pytest.fixture(scope="module")
def loop(target: Target) -> Iterator[LoopThread]:
    with running(target) as loop:
        yield loop


@pytest.mark.parametrize("seed", [*FEW, *(pytest.param(seed, marks=pytest.mark.long) for seed in MANY)])
def test_requests_to_a_server_that_is_killed_and_paused(loop: LoopThread, target: Target, seed: int, tmp_path: Path) -> None:
    history = check_plan(loop, target, fault_plans.sqlite(seed), folder=tmp_path)
    assert sum(one.is_write and one.outcome == "ok" for one in history.operations) > 3, "the clients committed no writes"
