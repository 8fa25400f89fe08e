"""Each command of `make check` fails on a planted violation and passes without it.

Elsewhere: tools/check-names.py in test_check_names, import-linter in test_import_contracts, lock files and secrets in
tests/unit/test_supply_chain.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SETTINGS = ROOT / "pyproject.toml"
ENVIRONMENT = {"PATH": os.defpath, "PYTHONPATH": "src"}
"""Nothing of a coverage measurement of these tests themselves, and the project's `probate` before the installed one."""
CLEAN = '"""A module."""\n\n\ndef double(number: int) -> int:\n    """Returns twice the number."""\n    return 2 * number\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our settings and one module without a problem."""
    shutil.copy(SETTINGS, tmp_path)
    for folder in ("src/probate", "tests", "bench", "tools"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{Path(folder).name}_empty.py").write_text('"""Empty."""\n')
    (tmp_path / "src" / "probate" / "__init__.py").write_text('"""A package."""\n')
    (tmp_path / "src" / "probate" / "planted.py").write_text(CLEAN)
    return tmp_path


def plant(project: Path, text: str) -> None:
    (project / "src" / "probate" / "planted.py").write_text(CLEAN + text)


def run(project: Path, *command: str) -> tuple[int, str]:
    """Runs a program of the virtual environment in the project."""
    program = Path(sys.executable).parent / command[0]
    completed = subprocess.run([program, *command[1:]], cwd=project, capture_output=True, text=True, check=False)
    return completed.returncode, completed.stdout + completed.stderr


def test_every_command_has_a_test() -> None:
    """A new command of `make check` gets a test with a planted violation, and its line here."""
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    assert [line.removeprefix("$(BIN)/").removeprefix("python ") for line in recipe[1].replace("\t", "").splitlines()] == [
        "ruff format --check .",
        "ruff check .",
        "mypy",
        "lint-imports",
        "tools/check-names.py",
        "vulture",
        "tools/make-etcd-rpc.py --check",
        "tools/lock.py --check",
        "tools/find-secrets.py",
        "$(if $(CI),$(MAKE) coverage)",
    ]


class TestFormat:
    """`ruff format --check`."""

    def test_unformatted_code(self, project: Path) -> None:
        assert run(project, "ruff", "format", "--no-cache", "--check", ".")[0] == 0
        plant(project, "X = [1,2]\n")
        code, output = run(project, "ruff", "format", "--no-cache", "--check", ".")
        assert code == 1
        assert "planted.py" in output


FOUR = "(one: int, two: int, three: int, four: int) -> None:"
RUFF = {
    "PLR0917": f'def planted{FOUR}\n    """Does it."""\n    del one, two, three, four\n',
    "PLR0913": f'def planted{FOUR.replace("four", "*, d: int, e: int, f: int, g: int, four")}\n    """Does it."""\n',
    "C901": 'def planted(x: int) -> int:\n    """Does it."""\n' + "".join(f"    if x == {n}:\n        x += 1\n" for n in range(10)),
    "D103": "def planted() -> None:\n    pass\n",
    "D101": "class Planted:\n    pass\n",
    "E501": f"# {'long ' * 30}\n",
    "F401": "import os\n",
    "I001": "import sys\nimport os\n",
    "T201": "print()\n",
    "DTZ005": "from datetime import datetime\nNOW = datetime.now()\n",
    "ASYNC251": 'import time\nasync def planted() -> None:\n    """Does it."""\n    time.sleep(1)\n',
    "BLE001": "try:\n    double(1)\nexcept Exception:\n    pass\n",
    "G004": 'import logging\nlogging.getLogger().warning(f"{double(1)}")\n',
    "S101": "assert double(1) == 2\n",
    "S602": "import subprocess\nsubprocess.run('ls', shell=True)\n",
    "SLF001": "double._cache = 1\n",
    "N801": 'class planted:\n    """One."""\n',
    "B006": 'def planted(x: list[int] = []) -> None:\n    """Does it."""\n',
    "PTH123": "with open('x') as f:\n    pass\n",
    "UP006": "from typing import List\nX: List[int] = []\n",
}
"""A violation for each rule that CONTRIBUTING names, and for one rule each of the other groups that matter most."""


class TestLint:
    """`ruff check`."""

    @pytest.mark.parametrize("rule", RUFF)
    def test_violation(self, project: Path, rule: str) -> None:
        plant(project, RUFF[rule])
        code, output = run(project, "ruff", "check", "--no-cache", "--output-format=json", ".")
        assert code == 1
        assert rule in {found["code"] for found in json.loads(output)}

    def test_no_violation(self, project: Path) -> None:
        plant(project, f"\n\n{RUFF['PLR0917'].replace('four: int', '*, four: int')}")
        assert run(project, "ruff", "check", "--no-cache", ".") == (0, "All checks passed!\n")


MYPY = {
    "no-untyped-def": "def planted(x): return x\n",
    "no-untyped-call": "def planted(x): return x\nplanted(1)\n",
    "type-arg": "def planted(x: list) -> None: ...\n",
    "no-any-return": "from typing import Any\ndef planted(x: Any) -> int: return x\n",
    "arg-type": "double('1')\n",
    "return-value": "def planted() -> str: return 1\n",
    "attr-defined": "double.planted\n",
    "unreachable": "def planted(x: int) -> int:\n    if isinstance(x, int):\n        return 1\n    return 2\n",
    "unused-ignore": "double(1)  # type: ignore[arg-type]\n",
    "import-untyped|import-not-found": "import planted_nowhere\n",
}


class TestTypes:
    """`mypy`. One run finds all errors: a start takes seconds."""

    def test_errors(self, project: Path) -> None:
        folder = project / "src" / "probate"
        for number, text in enumerate(MYPY.values()):
            (folder / f"planted{number}.py").write_text(CLEAN + text)
        code, output = run(project, "mypy", "src")
        assert code == 1
        for number, error in enumerate(MYPY):
            assert re.search(rf"^src/probate/planted{number}\.py:\d+: error: .*\[({error})\]$", output, re.MULTILINE), output
        assert "planted.py" not in output

    def test_tests_are_checked_too(self, project: Path) -> None:
        (project / "tests" / "test_planted.py").write_text("def test_planted(): ...\n")
        code, output = run(project, "mypy")
        assert code == 1
        assert output.startswith("tests/test_planted.py:1: error: Function is missing a return type annotation")


class TestDeadCode:
    """`vulture`."""

    @pytest.mark.parametrize(
        "text",
        [
            "def planted() -> None: ...\n",
            "class Planted: ...\n",
            "PLANTED = 1\n",
            "def f(planted=1): ...\nf()\n",
            "import planted\n",
        ],
        ids=["function", "class", "variable", "parameter", "import"],
    )
    def test_unused_name(self, project: Path, text: str) -> None:
        (project / "tests" / "test_double.py").write_text("from probate.planted import double\ndouble(1)\n")
        assert run(project, "vulture") == (0, "")
        plant(project, text)
        code, output = run(project, "vulture")
        assert code == 3
        assert re.search(r"^src/probate/planted\.py:\d+: unused \w+ '(?i:planted)'", output, re.MULTILINE), output


class TestGeneratedCode:
    """`tools/make-etcd-rpc.py --check`."""

    PACKAGE = Path("src", "probate", "store", "etcd", "rpc")

    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        shutil.copytree(ROOT / self.PACKAGE, tmp_path / self.PACKAGE)
        (tmp_path / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "make-etcd-rpc.py", tmp_path / "tools")
        return tmp_path

    def check(self, copy: Path) -> tuple[int, str]:
        return run(copy, "python", "tools/make-etcd-rpc.py", "--check")

    def test_code_edited_by_hand(self, copy: Path) -> None:
        assert self.check(copy) == (0, "")
        with (copy / self.PACKAGE / "rpc_pb2.pyi").open("a") as file:
            file.write("PLANTED: int\n")
        assert self.check(copy) == (1, "make-etcd-rpc: rpc_pb2.pyi is out of date. Run tools/make-etcd-rpc.py\n")

    def test_source_changed_without_the_code(self, copy: Path) -> None:
        with (copy / self.PACKAGE / "rpc.proto").open("a") as file:
            file.write("message Planted { int64 planted = 1; }\n")
        assert self.check(copy) == (1, "make-etcd-rpc: rpc_pb2.py, rpc_pb2.pyi is out of date. Run tools/make-etcd-rpc.py\n")


class TestCoverage:
    """`make coverage`."""

    def test_uncovered_code(self, project: Path) -> None:
        test = project / "tests" / "unit" / "test_planted.py"
        test.parent.mkdir()
        test.write_text("from probate.planted import double\ndef test_double(): assert double(1) == 2\n")
        assert self.measure(project) == (0, "100.0")
        plant(project, 'def planted(x: int) -> int:\n    """Does it."""\n    x += 1\n    return x\n')
        code, output = self.measure(project)
        assert code == 2
        assert re.fullmatch(r"60\.0\nCoverage failure: total of 60\.0 is less than fail-under=\d+\.\d", output)

    def measure(self, project: Path) -> tuple[int, str]:
        """Runs the recipe in one shell; returns its exit code, and the output from the total on."""
        recipe = re.search(r"^coverage: \$.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert recipe
        script = re.sub(r" \$\((WORKERS|ARGS)\)", "", recipe[1]).replace("\t", "").replace("@", "")
        script = script.replace("$(BIN)", str(Path(sys.executable).parent))
        completed = subprocess.run(
            ["/bin/sh", "-ec", script], cwd=project, env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        return completed.returncode, "\n".join(completed.stdout.splitlines()[-1 - (completed.returncode == 2) :])
