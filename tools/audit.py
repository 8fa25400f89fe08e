#!/usr/bin/env python3
"""Checks whether any locked package has a known vulnerability: `audit.py FOLDER`, where pip-audit is installed. Fails if one has.

The vulnerabilities come from a service on the internet. If it does not answer, the tool says that the packages were not checked,
and does not fail: the installed packages are still the locked ones, by their hashes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path
from typing import Any

LOCKS = sorted((Path(__file__).parents[1] / "locks").glob("*.txt"))
SERVICE = os.environ.get("PROBATE_AUDIT_SERVICE", "https://pypi.org/pypi/pip/25.3/json")
"""Whose answer shows that it can be asked."""


def is_there() -> bool:
    """Whether there is anybody to ask."""
    try:
        with urllib.request.urlopen(SERVICE, timeout=15) as answer:  # noqa: S310 it is ours to say
            return "vulnerabilities" in json.load(answer)
    except (OSError, ValueError):  # what urllib raises is one of both
        return False


def program_in(folder: Path) -> Path:
    """pip-audit, which is brought if it is not there."""
    program = folder / "bin" / "pip-audit"
    if not program.exists():
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "pip-audit"], check=True)
    return program


def asked(program: Path, lock: Path) -> list[dict[str, Any]]:
    """What is known of each package of a lock file; nothing if nobody answers."""
    command = [str(program), "--requirement", str(lock), "--require-hashes", "--disable-pip", "--timeout", "15"]
    done = subprocess.run([*command, "--progress-spinner", "off", "--format", "json"], capture_output=True, text=True, check=False)
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        return []


def told(lock: Path, found: list[dict[str, Any]]) -> bool:
    """Say it. Returns whether any of them is vulnerable."""
    known = [one for one in found if "vulns" in one]
    bad = [one for one in known if one["vulns"]]
    for one in bad:
        ids = ", ".join(each["id"] for each in one["vulns"])
        print(f"{lock.name}: {one['name']} {one['version']} is vulnerable: {ids}")
    if not known:
        print(f"{lock.name}: nobody could be asked, so nothing is known of its packages")
    elif not bad:
        print(f"{lock.name}: nothing is known against {len(known)} packages; {len(found) - len(known)} could not be asked about")
    return bool(bad)


if __name__ == "__main__":
    if not is_there():
        print(f"{SERVICE} does not answer: nobody could be asked, so nothing is known of the packages")
        sys.exit(0)
    pip_audit = program_in(Path(sys.argv[1]))
    verdicts = [told(lock, asked(pip_audit, lock)) for lock in LOCKS]  # all of them are told
    sys.exit(any(verdicts))
