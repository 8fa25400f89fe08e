#!/usr/bin/env python3
"""The lock files: every package that is installed to run, test and build Probate, in one version, with the hashes of its files.

    tools/lock.py            make them anew: the newest versions that pyproject.toml allows (needs `uv`: `make lock` brings it)
    tools/lock.py --check    whether they have all that pyproject.toml asks for, and the environment has what they say

They hold for all versions of Python and all systems that pyproject.toml names, and say nothing of where the packages come from.
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
OLDEST = "3.11"
EDITABLE = "editables~=0.3"
"""What the build asks for besides, when it links the sources instead of copying them."""
_LINE = re.compile(r"(?P<pinned>[\w.-]+==[^\s;]+)(?: ; (?P<marker>[^\\]+?))?(?P<hashes>(?: \\\n +--hash=sha256:[0-9a-f]{64})+)\n")


class Locked(NamedTuple):
    """One line of a lock file."""

    name: str
    version: str
    is_for_here: bool


def wanted() -> dict[str, list[str]]:
    """What is asked for, for each lock file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    clients = (ROOT / "tests" / "clients" / "requirements.txt").read_text().splitlines()
    return {
        "run-and-test.txt": [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]],
        "build.txt": [*project["build-system"]["requires"], EDITABLE],
        "clients.txt": [line for line in clients if line],
    }


def make() -> None:
    """Write them all."""
    LOCKS.mkdir(exist_ok=True)
    for name, requirements in wanted().items():
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "wanted.in", Path(folder) / "made.txt"
            source.write_text("\n".join(requirements))
            command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", OLDEST]
            subprocess.run([*command, "--no-header", "--no-annotate", "--output-file", str(made), str(source)], check=True)
            (LOCKS / name).write_text(
                f"# Made by `make lock`, from what is asked for in this project's own files.\n{made.read_text()}"
            )


def read(name: str) -> dict[str, Locked]:
    """What a lock file has, by names. Exits if it has anything else."""
    text = (LOCKS / name).read_text()
    left = _LINE.sub("", text).replace("# Made by `make lock`, from what is asked for in this project's own files.\n", "")
    if left.strip():
        sys.exit(f"locks/{name} has lines that are not one package in one version with its hashes:\n{left.strip()[:500]}")
    return {one.name: one for one in map(_locked, _LINE.finditer(text))}


def _locked(found: re.Match[str]) -> Locked:
    one = Requirement(found["pinned"] + (f" ; {found['marker']}" if found["marker"] else ""))
    version = next(iter(one.specifier)).version
    return Locked(canonicalize_name(one.name), version, one.marker is None or one.marker.evaluate())


def problems() -> Iterator[str]:
    """All that is wrong, in words."""
    for name, requirements in wanted().items():
        locked = read(name)
        for text in requirements:
            one = Requirement(text)
            found = locked.get(canonicalize_name(one.name))
            if found is None:
                yield f"locks/{name} does not have {one.name}"
            elif not one.specifier.contains(found.version, prereleases=True):
                yield f"locks/{name} has {one.name} {found.version}, and {text} is asked for"
    yield from _installed(read("run-and-test.txt"))


def _installed(locked: dict[str, Locked]) -> Iterator[str]:
    """Whether the environment is what the lock file says, and the lock file has all that its packages need."""
    for one in locked.values():
        if not one.is_for_here:
            continue
        try:
            found = metadata.distribution(one.name)
        except metadata.PackageNotFoundError:
            yield f"{one.name} {one.version} is not installed"
            continue
        if found.version != one.version:
            yield f"{one.name} {found.version} is installed, and {one.version} is locked"
        for text in found.requires or ():
            needed = Requirement(text)
            is_needed = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if is_needed and canonicalize_name(needed.name) not in locked:
                yield f"{needed.name}, which {one.name} needs, is not locked"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        told = list(problems())
        sys.exit(
            "\n".join([*told, "`make lock` makes the lock files anew; `make clean` and `make check` take them"]) if told else 0
        )
    make()
