"""Runs the state machine of deletion many times. Also a command, to search for rare failures:

    PYTHONPATH=tests .venv/bin/python -m support.deletion_machine_runs --runs 20000 --seed 7

A failure prints all requests of the run, the steps of the shortest failing run found within a minute, and the blob that repeats it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import tempfile
from pathlib import Path

import hypothesis
from hypothesis import Phase, stateful
from hypothesis.internal.conjecture import engine

from support import deletion_state_machine, store_engines

SHRINKING_SECONDS = 60


def settings(runs: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=runs,
        stateful_step_count=30,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )


def play(machine: type[deletion_state_machine.DeletionMachine], runs: int) -> None:
    engine.MAX_SHRINKING_SECONDS = SHRINKING_SECONDS  # there is no setting for it
    with asyncio.Runner() as machine.runner:
        stateful.run_state_machine_as_test(machine, settings=settings(runs))


def play_on_sqlite(folder: Path, runs: int, seed: int) -> None:
    class Machine(deletion_state_machine.DeletionMachine):
        def make_engine(self) -> store_engines.Engine:
            self.directory = Path(tempfile.mkdtemp(dir=folder))
            return store_engines.File(self.directory)

        def teardown(self) -> None:
            super().teardown()
            shutil.rmtree(self.directory)

    hypothesis.seed(seed)(Machine)
    play(Machine, runs)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))  # noqa: S311
    parser.add_argument("--folder", type=Path, help="folder of the temporary stores")
    options = parser.parse_args()
    play_on_sqlite(options.folder, options.runs, options.seed)
    print(f"{options.runs} runs with seed {options.seed}: the model explains all")


if __name__ == "__main__":
    main()
