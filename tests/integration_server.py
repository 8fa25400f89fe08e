"""A real server in a process of its own, for tests that ask it over HTTP."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """The URL of a server with an empty store in memory; it must end cleanly."""
    with started(*options) as (url, _):
        yield url


@contextmanager
def started(*options: str, stderr: IO[bytes] | None = None) -> Iterator[tuple[str, int]]:
    """The same, with the id of its process, which writes its log there."""
    command = [
        sys.executable,
        "-m",
        "probate",
        "serve",
        "--insecure",
        "--store",
        "memory:",
        "--listen",
        "127.0.0.1:0",
        "--kubeconfig",
        "",
    ]
    command += ["--controllers", "collector,namespaces,definitions"]  # objects stay as the tests make them
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=Path(__file__).parent
    ) as process:
        try:
            assert process.stdout is not None
            greeting = re.search(r"http://\S+", process.stdout.readline())
            assert greeting is not None
            yield greeting[0], process.pid
        finally:  # also when a test has failed, or it would wait for ever
            process.terminate()
        assert process.wait(timeout=20) == 0
