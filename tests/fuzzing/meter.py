"""What one request costs a server: processor time of its event loop and of all of its threads, until it is at rest again."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from support.loopback_ports import free_port

SCRIPT = Path(__file__).with_name("metered_server.py")
REST_SECONDS = 0.004
REST_NANOSECONDS = 1_000_000
MOST_LOOKS = 2_000


class Cost(NamedTuple):
    """Milliseconds of processor time."""

    loop: float
    total: float


class Meter:
    """Asks a metered server what it has used so far."""

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port))
        self._answers = self._line.makefile("rb")

    def read(self) -> tuple[int, int]:
        self._line.sendall(b"\n")
        loop, total = self._answers.readline().split()
        return int(loop), int(total)

    def rest(self) -> tuple[int, int]:
        """What it has used once it uses next to nothing more: controllers have seen what was written."""
        before = self.read()
        for _ in range(MOST_LOOKS):
            time.sleep(REST_SECONDS)
            now = self.read()
            if now[1] - before[1] < REST_NANOSECONDS:
                return now
            before = now
        return before

    def close(self) -> None:
        self._answers.close()
        self._line.close()


def cost(before: tuple[int, int], after: tuple[int, int]) -> Cost:
    return Cost((after[0] - before[0]) / 1e6, (after[1] - before[1]) / 1e6)


@contextmanager
def metered_server(folder: Path, *options: str) -> Iterator[tuple[str, Meter]]:
    """The URL of a server with an empty store in memory, and its meter."""
    port = free_port()
    command = [sys.executable, str(SCRIPT), str(port), "serve", "--store", "memory:", "--insecure", "--listen", "127.0.0.1:0"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            assert process.stdout is not None
            url = next(word for word in process.stdout.readline().split() if word.startswith("http"))
            meter = Meter(port)
            meter.rest()
            yield url.rstrip(","), meter
            meter.close()
        finally:
            process.terminate()
