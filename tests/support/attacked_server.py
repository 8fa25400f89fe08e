"""A server process that tests attack over sockets, while a well-behaved client uses it too."""

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

PATIENCE_SECONDS = 1.0
TIMEOUT_SECONDS = 60.0
"""Time after which an expected event counts as missing: long, for slow machines."""
MAPS = "/api/v1/namespaces/default/configmaps"


class AttackedServer:
    """A running server, a well-behaved client, and connections for attacks."""

    def __init__(self, process: subprocess.Popen[str], url: str, folder: Path) -> None:
        self.process = process
        self.url = url
        self.folder = folder
        self.port = int(url.rsplit(":", 1)[1])
        self.uses_tls = url.startswith("https")
        verify: ssl.SSLContext | bool = True
        if self.uses_tls:
            pki = folder / "probate.pki"
            verify = ssl.create_default_context(cafile=str(pki / "ca.crt"))
            verify.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self.client = httpx.Client(base_url=url, verify=verify, timeout=TIMEOUT_SECONDS)

    def connect_tcp(self) -> socket.socket:
        """Opens a TCP connection, without a TLS handshake."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS)

    def connect_slow_reader(self) -> socket.socket:
        """Opens an administrator's connection with a small receive buffer."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(TIMEOUT_SECONDS)
        connection.connect(("127.0.0.1", self.port))
        return self._secure(connection, as_admin=True)

    def connect(self, *, as_admin: bool = False) -> socket.socket:
        """Opens a connection for HTTP, without a client certificate or with the administrator's."""
        return self._secure(self.connect_tcp(), as_admin=as_admin)

    def _secure(self, connection: socket.socket, *, as_admin: bool) -> socket.socket:
        if not self.uses_tls:
            return connection
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if as_admin:
            context.load_cert_chain(self.folder / "probate.pki" / "admin.crt", self.folder / "probate.pki" / "admin.key")
        return context.wrap_socket(connection)

    def check_other_clients(self) -> None:
        """Asserts that other clients are served: on the connection that they have, and on a new one."""
        assert self.client.get("/api/v1/namespaces/default").status_code == 200
        response = self.client.post(MAPS, params={"dryRun": "All"}, json={"metadata": {"generateName": "x-"}})
        assert response.status_code == 201
        with self.connect() as new:
            new.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert new.recv(20).startswith(b"HTTP/1.1 200")

    @property
    def descriptors(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    @property
    def megabytes(self) -> float:
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert match is not None
        return int(match[1]) / 1024

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


@contextmanager
def run_attacked_server(folder: Path, *options: str, descriptors: int = 0) -> Iterator[AttackedServer]:
    """Runs a server with a limit of file descriptors. It must stop cleanly, and log no failure of its own."""
    command = [sys.executable, "-m", "probate", "serve", "--store", "memory:", "--listen", "127.0.0.1:0"]
    command += ["--patience", f"{PATIENCE_SECONDS}s", "--controllers", "collector,namespaces,definitions", *options]
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
    with (folder / "log").open("w") as log, _run(command, folder, log, limit=limit) as process:
        assert process.stdout is not None
        greeting = re.search(r"https?://\S+?:\d+", process.stdout.readline())
        assert greeting is not None
        server = AttackedServer(process, greeting[0], folder)
        with server.client:
            server.check_other_clients()
            yield server
        process.terminate()
        assert process.wait(timeout=TIMEOUT_SECONDS) == 0
    assert "Traceback" not in server.log


@contextmanager
def _run(command: list[str], folder: Path, log: Any, *, limit: Callable[[], None] | None) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, preexec_fn=limit) as process:  # noqa: PLW1509
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def open_connections(number: int, connect: Callable[[], socket.socket], data: bytes = b"") -> Iterator[list[socket.socket]]:
    """Opens this many connections, and sends data on each, if the server accepts them."""
    raise_descriptor_limit(number + 1_000)
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(number):
            with contextlib.suppress(OSError):
                connections.append(stack.enter_context(connect()))
                if data:
                    connections[-1].sendall(data)
        yield connections


def raise_descriptor_limit(number: int) -> None:
    """Allows this process to open this many file descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))


def wait_until(check: Callable[[], bool], event: str) -> None:
    """Blocks until the check returns true. Fails after `TIMEOUT_SECONDS`."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not check():
        assert time.monotonic() < end, f"{event} did not happen within {TIMEOUT_SECONDS} s"
        time.sleep(0.02)


def readable_connections(connections: list[socket.socket]) -> list[socket.socket]:
    """Returns the connections on which the server has sent something, or that it has closed."""
    poll, by_number = select.poll(), {connection.fileno(): connection for connection in connections}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(0)]


def read_to_end(connection: socket.socket) -> bytes:
    """Returns everything that the server sends until it closes or resets the connection."""
    data = b""
    with contextlib.suppress(OSError):
        while part := connection.recv(65_536):
            data += part
    return data


def status_codes(data: bytes) -> list[int]:
    """Returns the status codes of all responses."""
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]
