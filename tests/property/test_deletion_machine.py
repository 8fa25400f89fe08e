"""Random graphs of owners and dependents against the model of deletion, on every engine.

`deletion_machine_runs` says what a failure prints.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from support import deletion_machine_runs, deletion_state_machine, etcd_members, store_engines

PROCESSES = 2
IN_MEMORY = [pytest.param(50, id="everyday"), pytest.param(200, id="many", marks=pytest.mark.long)]
ON_ETCD = [pytest.param(20, id="everyday"), pytest.param(100, id="many", marks=pytest.mark.long)]
ON_SQLITE = [pytest.param(100, id="everyday"), pytest.param(2_000, id="many", marks=pytest.mark.long)]


@pytest.mark.parametrize("amount", IN_MEMORY)
def test_server_in_memory_matches_the_model(amount: int) -> None:
    class Machine(deletion_state_machine.DeletionMachine):
        def make_engine(self) -> store_engines.Engine:
            return store_engines.Memory()

    deletion_machine_runs.play(Machine, amount)


@pytest.mark.parametrize("amount", ON_SQLITE)
def test_server_on_sqlite_matches_the_model(quick_path: Path, amount: int) -> None:
    first = 0 if os.environ.get("CI") else random.randrange(1_000_000)  # noqa: S311
    runs = str(amount // PROCESSES)
    processes = [start("--runs", runs, "--seed", str(first + number), "--folder", str(quick_path)) for number in range(PROCESSES)]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES, "\n".join(outputs)


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", deletion_machine_runs.__name__, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


@pytest.mark.parametrize("amount", ON_ETCD)
def test_server_on_etcd_matches_the_model(etcd_member: etcd_members.Member, amount: int) -> None:
    class Machine(deletion_state_machine.DeletionMachine):
        pause = 0.001

        def make_engine(self) -> store_engines.Engine:
            return store_engines.Etcd(etcd_member.endpoint)

    deletion_machine_runs.play(Machine, amount)
