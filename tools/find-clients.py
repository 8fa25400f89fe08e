#!/usr/bin/env python3
"""Installs the client libraries that the tests use: once, and again when their lists change.

    tools/find-clients.py FOLDER        ->  FOLDER/python (a virtual environment), FOLDER/node/node_modules

locks/clients.txt (made from tests/clients/requirements.txt) and tests/clients/node/package.json list them. They have an
environment of their own, because Probate's environment should not contain their dependencies. Node.js comes with the Python ones,
as a package of the Python index, so that nothing has to be installed on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIP = "pip>=25.3"
"""Older ones prefer a newer version of a locked package that is required with extras, and refuse it because it is not locked."""
PYTHON, NODE = ROOT / "locks" / "clients.txt", ROOT / "tests" / "clients" / "node" / "package.json"


def python_clients(into: Path) -> None:
    """A virtual environment with what the lock file names."""
    venv.create(into, clear=True, with_pip=True)
    pip = [str(into / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--upgrade", PIP], check=True)
    subprocess.run([*pip, "install", "--require-hashes", "--requirement", str(PYTHON)], check=True)


def node_clients(into: Path) -> None:
    """A folder with what package.json names."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    shutil.copy(NODE, into)
    programs = into.parent / "python" / "bin"
    npm = [str(programs / "npm"), "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    found_first = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}  # npm runs `node` by its name
    subprocess.run(npm, cwd=into, env=found_first, check=True, stdout=sys.stderr)


def make(into: Path, wanted: Path, maker: Callable[[Path], None]) -> None:
    """Have it made unless it was made of the same list before."""
    made_of = into / "made-of.txt"
    if made_of.exists() and made_of.read_text() == wanted.read_text():
        return
    print(f"getting the clients of {wanted.name} (once; a minute or so)", file=sys.stderr)
    maker(into)
    made_of.write_text(wanted.read_text())


if __name__ == "__main__":
    folder = Path(sys.argv[1]).absolute()
    make(folder / "python", PYTHON, python_clients)
    make(folder / "node", NODE, node_clients)
