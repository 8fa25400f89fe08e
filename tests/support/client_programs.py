"""Programs of other people, run as people run them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

PATIENCE = 120.0
"""Seconds until a program that does not end is a failure. It counts for nothing where all is well."""


class Program:
    """One program with the kubeconfig of one server. What it remembers is in `home`."""

    def __init__(self, path: Path, kubeconfig: Path, home: Path) -> None:
        self.path = path
        self.environment: Mapping[str, str] = {**os.environ, "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str | Path, fails: bool = False) -> str:
        """What it prints; fails the test if it fails, or if it does not and should."""
        command = [str(self.path), *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (done.returncode != 0) == fails, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr
