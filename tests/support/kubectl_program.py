"""A kubectl, run as people run it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Kubectl:
    """kubectl of one version. What it remembers of the server is in `home`; it runs in `folder`."""

    def __init__(self, program: Path, kubeconfig: Path, home: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, fails: bool = False, **variables: str) -> str:
        """What it prints; fails the test if it fails."""
        done = subprocess.run(
            [self._program, *arguments],
            env=self._environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self._folder,
        )
        assert (done.returncode != 0) == fails, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    @contextmanager
    def following(self, *arguments: str) -> Iterator[Iterator[str]]:
        """The lines that it prints, as they come."""
        with subprocess.Popen(
            [self._program, *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder,
        ) as process:
            assert process.stdout is not None
            try:
                yield iter(process.stdout)
            finally:
                process.kill()
