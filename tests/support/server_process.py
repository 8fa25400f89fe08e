"""A `probate serve` process: the one way in which tests start, stop, kill and restart a server.

Its log goes to a file. After the server has ended, the log is copied to the test's standard error and searched for secrets: no key
and no token may be in it, whatever the test is about.
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

SHUTDOWN_SECONDS = 30.0
"""Time within which a server must end after SIGTERM."""
GC_CONTROLLERS = ("--insecure", "--controllers", "collector,namespaces,definitions")
"""Options for a server without workload controllers: objects stay as the tests create them."""
_numbers = itertools.count(1)


class ServerProcess:
    """A running server. Its files are in `folder`. Its `url` stays the same when it is restarted."""

    def __init__(
        self, folder: Path, store: str, *options: str, listen: str = "127.0.0.1:0", program: Sequence[str] = ("-m", "probate")
    ) -> None:
        self._folder = folder
        self._command = [sys.executable, *program, "serve", "--store", store, *options]
        number = next(_numbers)
        self.kubeconfig = folder / f"probate-{number}.kubeconfig"
        self.log = folder / f"server-{number}.log"
        self._process, self.url = self._start(listen)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _start(self, listen: str) -> tuple[subprocess.Popen[str], str]:
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
        """Kills the process, as if the machine had failed."""
        self._process.send_signal(signal.SIGKILL)
        self._wait()

    def kill_and_restart(self) -> None:
        """Kills the process and starts it again, as if the machine had restarted."""
        self.kill()
        self.restart()

    def restart(self) -> None:
        """Starts a killed server again at the same address."""
        self._process, url = self._start(self.url.partition("//")[2])
        assert url == self.url

    def pause(self) -> None:
        """Stops the process from running, with its connections open (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets the process run again (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Stops the server with SIGTERM. It must exit with code 0."""
        self._process.terminate()
        code = self._wait()
        self._check_log()
        assert code == 0, "the server did not stop cleanly"

    def _wait(self) -> int:
        with self._process:  # closes its pipe
            try:
                return self._process.wait(SHUTDOWN_SECONDS)
            finally:
                self._process.kill()

    def _check_log(self) -> None:
        sys.stderr.write(self.log.read_text(errors="replace"))
        secrets = [secret.what for secret in _load_secret_finder().found_in([self.log])]
        assert not secrets, f"the server's log contains {', '.join(secrets)}"

    def discard(self) -> None:
        """Kills the server if it still runs, and checks its log."""
        if self._process.poll() is None:
            self.kill()
        self._check_log()


def _load_secret_finder() -> Any:
    """Loads tools/find-secrets.py, whose file name is not a module name."""
    path = Path(__file__).parents[2] / "tools" / "find-secrets.py"
    spec = importlib.util.spec_from_file_location("find_secrets", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def run_server(folder: Path, store: str, *options: str, listen: str = "127.0.0.1:0") -> Iterator[ServerProcess]:
    """Runs a server until the block ends. It must stop cleanly."""
    server = ServerProcess(folder, store, *options, listen=listen)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def run_killable_server(folder: Path, store: str, *options: str) -> Iterator[ServerProcess]:
    """Runs a server that the block may kill, and kills it when the block ends."""
    server = ServerProcess(folder, store, *options)
    try:
        yield server
    finally:
        server.discard()
