"""Histories of two servers on three etcd members that are killed, paused, and cut off from each other in one direction.

One history in ten is long. Its fault lasts longer than authorization decisions and watch events may be late.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linearizability import fault_plans
from linearizability.history_runner import LoopThread, check_plan, running
from linearizability.targets import EtcdTarget

FEW = range(14)
MANY = range(14, 140)


@pytest.fixture(scope="module")
def target(store_path: Path) -> EtcdTarget:
    return EtcdTarget(store_path)


@pytest.fixture(scope="module")
def loop(target: EtcdTarget) -> Iterator[LoopThread]:
    with running(target) as loop:
        yield loop


@pytest.mark.parametrize("seed", [*FEW, *(pytest.param(seed, marks=pytest.mark.long) for seed in MANY)])
def test_requests_to_two_servers_while_members_and_connections_fail(
    loop: LoopThread, target: EtcdTarget, seed: int, tmp_path: Path
) -> None:
    history = check_plan(loop, target, fault_plans.etcd(seed), folder=tmp_path)
    assert sum(one.is_write and one.outcome == "ok" for one in history.operations) > 3, "the clients committed no writes"
