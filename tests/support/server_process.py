"""A `probate serve` in a process of its own: the one way in which tests start one, end it, kill it, and start it again.

Its log is in a file. When the server is gone, what it wrote goes to where tests write, and is searched: no key and no token may be
in it, whatever the test was about.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENDING = 30.0
"""Seconds in which a server has to end when it is told to."""
FEW = ("--insecure", "--controllers", "collector,namespaces,definitions")
"""Objects stay as the tests make them."""
_numbers = itertools.count(1)


class Server:
    """Its files are in `folder`. `url` is where it serves, and stays."""

    def __init__(
        self, folder: Path, store: str, *options: str, listen: str = "127.0.0.1:0", program: Sequence[str] = ("-m", "probate")
    ) -> None:
        self._folder = folder
        self._command = [sys.executable, *program, "serve", "--store", store, *options]
        number = next(_numbers)
        self.kubeconfig = folder / f"probate-{number}.kubeconfig"
        self.log = folder / f"server-{number}.log"
        self._process, self.url = self._started(listen)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _started(self, listen: str) -> tuple[subprocess.Popen[str], str]:
        command = [*self._command, "--listen", listen, "--kubeconfig", str(self.kubeconfig)]
        with self.log.open("a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self._folder)
        assert process.stdout is not None
        greeting = re.search(r"https?://\S+", process.stdout.readline())
        if greeting is None:
            process.kill()
            raise AssertionError(f"the server did not start: {self.log.read_text()}")
        return process, greeting[0]

    def kill(self) -> None:
        """As if the machine had failed."""
        self._process.send_signal(signal.SIGKILL)
        self._ended()

    def kill_and_start_again(self) -> None:
        """And had come back."""
        self.kill()
        self.start_again()

    def start_again(self) -> None:
        """Start it where it was, after it was killed."""
        self._process, url = self._started(self.url.partition("//")[2])
        assert url == self.url

    def pause(self) -> None:
        """It stands still, and its connections stay open (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on where it was."""
        self._process.send_signal(signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """As its owner ends it. It must end well."""
        self._process.terminate()
        code = self._ended()
        self._look_at_log()
        assert code == 0, "the server did not end well"

    def _ended(self) -> int:
        with self._process:  # closes its pipe
            try:
                return self._process.wait(ENDING)
            finally:
                self._process.kill()

    def _look_at_log(self) -> None:
        sys.stderr.write(self.log.read_text(errors="replace"))
        told = [one.what for one in _secrets().found_in([self.log])]
        assert not told, f"the server's log has {', '.join(told)}"

    def over(self) -> None:
        """Nobody needs it any more, however it is doing."""
        if self._process.poll() is None:
            self.kill()
        self._look_at_log()


def _secrets() -> Any:
    """The tool that finds them, whose name is none for a module."""
    path = Path(__file__).parents[2] / "tools" / "find-secrets.py"
    spec = importlib.util.spec_from_file_location("find_secrets", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@contextmanager
def serving(folder: Path, store: str, *options: str, listen: str = "127.0.0.1:0") -> Iterator[Server]:
    """A server until the block ends; it must end well."""
    server = Server(folder, store, *options, listen=listen)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def mortal(folder: Path, store: str, *options: str) -> Iterator[Server]:
    """A server that may be killed, and is when the block ends."""
    server = Server(folder, store, *options)
    try:
        yield server
    finally:
        server.over()
