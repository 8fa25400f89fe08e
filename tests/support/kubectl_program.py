"""Runs a kubectl binary as a user does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Kubectl:
    """A kubectl of one version. Its discovery cache is in `home`; its working directory is `folder`."""

    def __init__(self, program: Path, kubeconfig: Path, home: Path, *, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, fails: bool = False, **variables: str) -> str:
        """Runs kubectl and returns its output. Fails the test if kubectl exits with an error, or with `fails` if it does not."""
        result = subprocess.run(
            [self._program, *arguments],
            env=self._environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self._folder,
        )
        assert (result.returncode != 0) == fails, f"kubectl {' '.join(arguments)}: {result.stdout}{result.stderr}"
        return result.stdout + result.stderr

    @contextmanager
    def stream(self, *arguments: str) -> Iterator[Iterator[str]]:
        """Runs kubectl in the background and yields the lines of its output as they arrive."""
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
