"""A run of the tests says whether they passed, whoever ran them: our conftest ends the process itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PASSES, FAILS = "pass", "assert False"
DIES = "__import__('os')._exit(0)"
ALONE, SHARED = (), ("--numprocesses=2", "--dist=loadfile")


@pytest.mark.parametrize(
    ("workers", "body", "expected"),
    [(ALONE, FAILS, 1), (SHARED, PASSES, 0), (SHARED, FAILS, 1), (SHARED, DIES, 1)],
    ids=["alone, fails", "passes", "fails", "dies"],
)
def test_run_ends_as_its_tests_did(tmp_path: Path, workers: tuple[str, ...], body: str, expected: int) -> None:
    assert status(tmp_path, f"def test_one(): {body}", *workers) == expected


def status(folder: Path, content: str, *options: str) -> int:
    shutil.copy(TESTS / "conftest.py", folder)
    (folder / "test_other.py").write_text("def test_other(): pass")
    (folder / "test_one.py").write_text(content)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**inherited, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take a second each time
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "--rootdir", str(folder), *options, str(folder)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=False).returncode
