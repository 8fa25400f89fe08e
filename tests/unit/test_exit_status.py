"""The exit status of a test run says whether the tests passed, with and without workers: our conftest ends the process itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PASSES, FAILS = "pass", "assert False"
CRASHES = "__import__('os')._exit(0)"
SINGLE, PARALLEL = (), ("--numprocesses=2", "--dist=loadfile")


@pytest.mark.parametrize(
    ("workers", "body", "expected"),
    [(SINGLE, FAILS, 1), (PARALLEL, PASSES, 0), (PARALLEL, FAILS, 1), (PARALLEL, CRASHES, 1)],
    ids=["single, fails", "passes", "fails", "crashes"],
)
def test_exit_status_says_whether_the_tests_passed(tmp_path: Path, workers: tuple[str, ...], body: str, expected: int) -> None:
    assert status(tmp_path, f"def test_one(): {body}", *workers) == expected


def status(folder: Path, content: str, *options: str) -> int:
    shutil.copy(TESTS / "conftest.py", folder)
    (folder / "test_other.py").write_text("def test_other(): pass")
    (folder / "test_one.py").write_text(content)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {
        **inherited,
        "PYTHONPATH": str(TESTS),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # loading plugins takes a second each time
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "--rootdir", str(folder), *options, str(folder)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=False).returncode
