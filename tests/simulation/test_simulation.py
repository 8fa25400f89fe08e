"""The whole server with crashes and faults; and runs are reproducible."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simulation import seeds

TESTS = Path(__file__).parents[1]
EVERYDAY, ALL = 40, 300
STEPS = 500


RUNS_THAT_NEVER_END = """
import os
from simulation import seeds

def spin(seed, steps):
    print(os.getpid(), flush=True)
    while True:
        pass

if __name__ == "__main__":
    seeds.play = spin
    list(seeds.play_all(range(100), 1))
"""


def environment_with_tests() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(range(EVERYDAY), id="everyday"),
        pytest.param(range(EVERYDAY, ALL), id="all-the-others", marks=pytest.mark.long),
    ],
)
def test_every_seed_holds(numbers: range) -> None:
    for report in seeds.play_all(numbers, STEPS):
        assert not report.failure, "\n".join([*report.log_lines, report.verdict])
        assert report.steps == STEPS
        assert report.revisions > 100, "hardly anything was written"


@pytest.mark.parametrize("seed", [6, 8])  # with crashes
def test_seed_gives_the_same_run_in_every_process(seed: int) -> None:
    def play(hash_seed: str) -> str:
        environment = {**environment_with_tests(), "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "simulation", "--seed", str(seed), "--steps", "200"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first = play("1")
    assert "the server crashes" in first
    assert play("2") == first


def test_run_is_the_same_after_others_in_the_same_process() -> None:
    first = seeds.play(3, 100)
    seeds.play(4, 100)
    assert seeds.play(3, 100) == first


def test_processes_ran_for_ever_after_the_one_that_started_them_was_killed(tmp_path: Path) -> None:
    (tmp_path / "runs.py").write_text(RUNS_THAT_NEVER_END)
    command = [sys.executable, str(tmp_path / "runs.py")]
    with subprocess.Popen(command, env=environment_with_tests(), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(parent.stdout.readline()) for _ in range(os.cpu_count() or 1)]
        try:
            parent.kill()
            parent.communicate(timeout=60)  # the output ends when the last process that holds it has ended
        finally:
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
