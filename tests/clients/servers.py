"""A `probate serve` in a process of its own, which a test may also kill and start again at the same address."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENDING = 30.0
"""Seconds in which a server has to end when it is told to."""


class Server:
    """Its files are in `folder`. `url` is where it serves, and stays."""

    def __init__(self, folder: Path, store: str, *options: str) -> None:
        self._folder = folder
        self._command = [sys.executable, "-m", "probate", "serve", "--store", store, *options]
        self.kubeconfig = folder / "probate.kubeconfig"
        self.log = folder / "server.log"
        self._process, self.url = self._started("127.0.0.1:0")

    def _started(self, listen: str) -> tuple[subprocess.Popen[str], str]:
        command = [*self._command, "--listen", listen, "--kubeconfig", str(self.kubeconfig)]
        with self.log.open("a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self._folder)
        assert process.stdout is not None
        greeting = re.search(r"https?://\S+", process.stdout.readline())
        assert greeting is not None, "the server did not start"
        return process, greeting[0]

    def kill_and_start_again(self) -> None:
        """As if the machine had failed and come back."""
        self._process.send_signal(signal.SIGKILL)
        self._ended()
        self._process, url = self._started(self.url.partition("//")[2])
        assert url == self.url

    def end(self) -> None:
        self._process.terminate()
        assert self._ended() == 0, "the server did not end well"

    def _ended(self) -> int:
        with self._process:  # closes its pipe
            try:
                return self._process.wait(ENDING)
            finally:
                self._process.kill()


@contextmanager
def serving(folder: Path, store: str, *options: str) -> Iterator[Server]:
    """A server until the block ends; it must end well."""
    server = Server(folder, store, *options)
    try:
        yield server
    finally:
        server.end()
