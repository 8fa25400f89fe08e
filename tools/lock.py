#!/usr/bin/env python3
"""Writes and checks the lock files: every package that is installed to run, test and build Probate, in one version, with hashes.

    tools/lock.py            writes them: the newest versions that pyproject.toml allows (needs `uv`; `make lock` installs it)
    tools/lock.py --check    checks that they cover pyproject.toml, and that the environment matches them

`run.txt` is what `make run` installs; `run-and-test.txt` is the same packages in the same versions, and those that tests and checks
need. The files hold for all versions of Python and all systems that pyproject.toml names, and do not name an index.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
OLDEST_PYTHON = "3.11"
EDITABLE_BUILD = "editables~=0.3"
"""What the build needs in addition when it installs the sources as editable."""
RUN, RUN_AND_TEST = "run.txt", "run-and-test.txt"
HEADER = "# Written by `make lock` from this project's requirements.\n"
_LINE = re.compile(r"(?P<pinned>[\w.-]+==[^\s;]+)(?: ; (?P<marker>[^\\]+?))?(?P<hashes>(?: \\\n +--hash=sha256:[0-9a-f]{64})+)\n")


class Locked(NamedTuple):
    """One package of a lock file."""

    name: str
    version: str
    applies_here: bool


def requirements() -> dict[str, list[str]]:
    """Returns the requirements of each lock file. The order matters: `run.txt` takes its versions from `run-and-test.txt`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    clients = (ROOT / "tests" / "clients" / "requirements.txt").read_text().splitlines()
    return {
        RUN_AND_TEST: [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]],
        RUN: project["project"]["dependencies"],
        "build.txt": [*project["build-system"]["requires"], EDITABLE_BUILD],
        "clients.txt": [line for line in clients if line],
    }


def write_locks() -> None:
    """Writes all lock files."""
    LOCKS.mkdir(exist_ok=True)
    for name, lines in requirements().items():
        with tempfile.TemporaryDirectory() as folder:
            source, compiled = Path(folder) / "requirements.in", Path(folder) / "compiled.txt"
            source.write_text("\n".join(lines))
            command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", OLDEST_PYTHON]
            command += ["--no-header", "--no-annotate", "--output-file", str(compiled)]
            command += ["--constraint", str(LOCKS / RUN_AND_TEST)] if name == RUN else []
            subprocess.run([*command, str(source)], check=True)
            (LOCKS / name).write_text(HEADER + compiled.read_text())


def read(name: str) -> dict[str, Locked]:
    """Returns the packages of a lock file by name. Exits if the file has any other line."""
    text = (LOCKS / name).read_text()
    rest = _LINE.sub("", text).replace(HEADER, "")
    if rest.strip():
        sys.exit(f"locks/{name} has lines that are not one package in one version with its hashes:\n{rest.strip()[:500]}")
    return {package.name: package for package in map(_locked, _LINE.finditer(text))}


def _locked(line: re.Match[str]) -> Locked:
    requirement = Requirement(line["pinned"] + (f" ; {line['marker']}" if line["marker"] else ""))
    version = next(iter(requirement.specifier)).version
    applies_here = requirement.marker is None or requirement.marker.evaluate()
    return Locked(canonicalize_name(requirement.name), version, applies_here)


def problems() -> Iterator[str]:
    """Yields every problem as a sentence."""
    for name, lines in requirements().items():
        locked = read(name)
        for text in lines:
            requirement = Requirement(text)
            package = locked.get(canonicalize_name(requirement.name))
            if package is None:
                yield f"locks/{name} does not have {requirement.name}"
            elif not requirement.specifier.contains(package.version, prereleases=True):
                yield f"locks/{name} has {requirement.name} {package.version}, and {text} is asked for"
    yield from _differences(read(RUN), read(RUN_AND_TEST))
    yield from _environment_problems(read(RUN_AND_TEST))


def _differences(run: dict[str, Locked], run_and_test: dict[str, Locked]) -> Iterator[str]:
    for name, package in run.items():
        tested = run_and_test.get(name)
        if tested is None or tested.version != package.version:
            yield f"locks/{RUN} has {name} {package.version}, and locks/{RUN_AND_TEST} has {tested.version if tested else 'none'}"


def _environment_problems(locked: dict[str, Locked]) -> Iterator[str]:
    """Compares the environment with the lock file, and the lock file with what its packages need."""
    for package in locked.values():
        if not package.applies_here:
            continue
        try:
            installed = metadata.distribution(package.name)
        except metadata.PackageNotFoundError:
            yield f"{package.name} {package.version} is not installed"
            continue
        if installed.version != package.version:
            yield f"{package.name} {installed.version} is installed, and {package.version} is locked"
        for text in installed.requires or ():
            needed = Requirement(text)
            is_needed = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if is_needed and canonicalize_name(needed.name) not in locked:
                yield f"{needed.name}, which {package.name} needs, is not locked"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        found = list(problems())
        sys.exit("\n".join([*found, "`make lock` writes new lock files; `make clean check` installs them"]) if found else 0)
    write_locks()
