"""Runs client programs such as kubectl and helm as their users do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

TIMEOUT_SECONDS = 120.0
"""Seconds until a program that does not end is a failure."""


class Program:
    """A program with the kubeconfig of one server. It keeps its state in `home`."""

    def __init__(self, path: Path, kubeconfig: Path, home: Path) -> None:
        self.path = path
        self.environment: Mapping[str, str] = {**os.environ, "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str | Path, fails: bool = False) -> str:
        """Returns what the program prints. Fails the test if the program fails, or with `fails` if it does not."""
        command = [str(self.path), *map(str, arguments)]
        process = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
        assert (process.returncode != 0) == fails, f"{' '.join(command)}: {process.stdout}{process.stderr}"
        return process.stdout + process.stderr
