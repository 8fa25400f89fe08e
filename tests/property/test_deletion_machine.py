"""Random graphs of owners and dependents against the rules of deletion, on every engine.

A failure prints all requests of the run, the steps of the shortest run found within a minute, and the blob that repeats it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import pytest
from hypothesis import Phase, stateful

import deletion_machine
import etcd_members
import store_engines

RUNS = int(os.environ.get("PROBATE_RUNS", "0"))
SHRINKING_SECONDS = 60


@pytest.fixture(autouse=True)
def short_search_for_a_shorter_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hypothesis.internal.conjecture.engine.MAX_SHRINKING_SECONDS", SHRINKING_SECONDS)


def settings(examples: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=RUNS or examples,
        stateful_step_count=30,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )


def play(machine: type[deletion_machine.DeletionMachine], runs: int) -> None:
    with asyncio.Runner() as machine.runner:
        stateful.run_state_machine_as_test(machine, settings=settings(runs))


def test_server_in_memory_does_what_the_rules_say() -> None:
    class Machine(deletion_machine.DeletionMachine):
        def make_engine(self) -> store_engines.Engine:
            return store_engines.Memory()

    play(Machine, 200)


def test_server_on_sqlite_does_what_the_rules_say(quick_path: Path) -> None:
    class Machine(deletion_machine.DeletionMachine):
        def make_engine(self) -> store_engines.Engine:
            self.directory = Path(tempfile.mkdtemp(dir=quick_path))
            return store_engines.File(self.directory)

        def teardown(self) -> None:
            super().teardown()
            shutil.rmtree(self.directory)

    play(Machine, 2_000)


def test_server_on_etcd_does_what_the_rules_say(etcd_member: etcd_members.Member) -> None:
    class Machine(deletion_machine.DeletionMachine):
        pause = 0.001

        def make_engine(self) -> store_engines.Engine:
            return store_engines.Etcd(etcd_member.endpoint)

    play(Machine, 100)
