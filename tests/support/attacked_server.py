"""A real server in a process of its own that is attacked over sockets, while somebody honest asks it too."""

from __future__ import annotations

import contextlib
import re
import resource
import select
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 1.0
LIMIT = 60.0
"""Seconds after which something that should happen has not: long, for slow machines."""
MAPS = "/api/v1/namespaces/default/configmaps"


class Target:
    """The server."""

    def __init__(self, process: subprocess.Popen[str], url: str, folder: Path) -> None:
        self.process = process
        self.url = url
        self.folder = folder
        self.port = int(url.rsplit(":", 1)[1])
        self.is_secured = url.startswith("https")
        verify: ssl.SSLContext | bool = True
        if self.is_secured:
            pki = folder / "probate.pki"
            verify = ssl.create_default_context(cafile=str(pki / "ca.crt"))
            verify.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self.honest = httpx.Client(base_url=url, verify=verify, timeout=LIMIT)

    def raw(self) -> socket.socket:
        """A connection on which nothing was said."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def narrow(self) -> socket.socket:
        """A connection of somebody known who takes in little at a time."""
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.settimeout(LIMIT)
        line.connect(("127.0.0.1", self.port))
        return self._spoken_on(line, known=True)

    def line(self, *, known: bool = False) -> socket.socket:
        """A connection on which HTTP can be spoken; as somebody `known` if that is wanted."""
        return self._spoken_on(self.raw(), known=known)

    def _spoken_on(self, line: socket.socket, *, known: bool) -> socket.socket:
        if not self.is_secured:
            return line
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if known:
            context.load_cert_chain(self.folder / "probate.pki" / "admin.crt", self.folder / "probate.pki" / "admin.key")
        return context.wrap_socket(line)

    def check_others(self) -> None:
        """Others are answered: on the connection they have, and on a new one."""
        assert self.honest.get("/api/v1/namespaces/default").status_code == 200
        made = self.honest.post(MAPS, params={"dryRun": "All"}, json={"metadata": {"generateName": "x-"}})
        assert made.status_code == 201
        with self.line() as new:
            new.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert new.recv(20).startswith(b"HTTP/1.1 200")

    @property
    def descriptors(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    @property
    def megabytes(self) -> float:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) / 1024

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


@contextmanager
def attacked(folder: Path, *options: str, descriptors: int = 0) -> Iterator[Target]:
    """The server; at the end it stops as it should, and has logged no failure of its own. It may open so many descriptors."""
    command = [sys.executable, "-m", "probate", "serve", "--store", "memory:", "--listen", "127.0.0.1:0"]
    command += ["--patience", f"{PATIENCE}s", "--controllers", "collector,namespaces,definitions", *options]
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
    with (folder / "log").open("w") as log, _started(command, folder, log, limit) as process:
        assert process.stdout is not None
        greeting = re.search(r"https?://\S+?:\d+", process.stdout.readline())
        assert greeting is not None
        target = Target(process, greeting[0], folder)
        with target.honest:
            target.check_others()
            yield target
        process.terminate()
        assert process.wait(timeout=LIMIT) == 0
    assert "Traceback" not in target.log


@contextmanager
def _started(command: list[str], folder: Path, log: Any, limit: Callable[[], None] | None) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, preexec_fn=limit) as process:  # noqa: PLW1509
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def many(number: int, connect: Callable[[], socket.socket], say: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections, on each of which this is said, if it can be."""
    allow_descriptors(number + 1_000)
    with contextlib.ExitStack() as held:
        lines = []
        for _ in range(number):
            with contextlib.suppress(OSError):
                lines.append(held.enter_context(connect()))
                if say:
                    lines[-1].sendall(say)
        yield lines


def allow_descriptors(number: int) -> None:
    """This process may open so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))


def until(check: Callable[[], bool], what: str) -> None:
    """Come back when it is so."""
    end = time.monotonic() + LIMIT
    while not check():
        assert time.monotonic() < end, f"{what} did not happen within {LIMIT} s"
        time.sleep(0.02)


def answered(lines: list[socket.socket]) -> list[socket.socket]:
    """Those on which something was said."""
    poll, by_number = select.poll(), {line.fileno(): line for line in lines}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(0)]


def rest_of(line: socket.socket) -> bytes:
    """All that is said until the server ends the connection, in whatever way."""
    said = b""
    with contextlib.suppress(OSError):
        while part := line.recv(65_536):
            said += part
    return said


def codes(said: bytes) -> list[int]:
    """Of all answers."""
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", said)]
