"""Starts and stops the measured servers: Probate, a bare uvicorn, and a server that only writes to sockets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from client import Address

HERE = Path(__file__).parent


class Server(NamedTuple):
    process: subprocess.Popen[str]
    at: Address
    seconds: float  # from the start of the process until it reported that it is ready

    def cpu(self) -> float:
        """The processor time of the server in seconds; 0 if the system does not report it."""
        threads = Path(f"/proc/{self.process.pid}/task")
        try:
            return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads.iterdir()) / 1e9
        except OSError:
            return 0.0

    def megabytes(self) -> float:
        """The resident size of the server in megabytes."""
        if not Path("/proc/self/status").exists():
            kilobytes = subprocess.check_output(["ps", "-o", "rss=", "-p", str(self.process.pid)], text=True)  # noqa: S603, S607
            return int(kilobytes) / 1024
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) / 1024


@contextlib.contextmanager
def probate(folder: Path, *options: str) -> Iterator[Server]:
    """Runs Probate with a store in this folder. Yields when it is ready."""
    port = _free_port()
    command = ["probate", "serve", "--insecure", "--listen", f"127.0.0.1:{port}", "--kubeconfig", "", *options]
    with _started([sys.executable, "-m", *command], folder) as process:
        yield _ready(process, Address("127.0.0.1", port), "/readyz")


@contextlib.contextmanager
def secured(folder: Path, *options: str) -> Iterator[Server]:
    """Runs Probate with TLS and authentication, as in production. Its certificates are in `probate.pki` in the folder."""
    port = _free_port()
    command = ["probate", "serve", "--listen", f"127.0.0.1:{port}", *options]
    with _started([sys.executable, "-m", *command], folder) as process:
        yield _ready(process, Address("127.0.0.1", port), "/readyz", context=whoever())


def whoever() -> ssl.SSLContext:
    """Returns a TLS context that does not verify the server: the benchmark has started it itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def fill(server: Server, context: ssl.SSLContext | None, megabytes: int) -> None:
    """Writes this many megabytes into the namespace `large`."""
    ask(server, context, "/api/v1/namespaces", body={"metadata": {"name": "large"}})
    for number in range(megabytes):
        body = {"metadata": {"name": f"x{number}"}, "data": {"a": "a" * 1_000_000}}
        ask(server, context, "/api/v1/namespaces/large/configmaps", body=body)


def ask(server: Server, context: ssl.SSLContext | None, path: str, *, body: Any = None) -> None:
    """Sends a GET, or a POST of `body`, and reads the response. Uses plain HTTP without a context."""
    scheme, headers = "http" if context is None else "https", {"content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{scheme}://localhost:{server.at.port}{path}", data, headers)  # noqa: S310
    with urllib.request.urlopen(request, context=context) as answer:  # noqa: S310
        answer.read()


@contextlib.contextmanager
def bare(folder: Path, body: bytes) -> Iterator[Server]:
    """Runs a bare uvicorn that answers with this body, in its fastest configuration."""
    (folder / "body").write_bytes(body)
    port = _free_port()
    fast = ["--loop", "uvloop", "--http", "httptools", "--log-level", "error", "--no-access-log", "--no-proxy-headers"]
    command = ["uvicorn", "bare:app", "--port", str(port), *fast, "--lifespan", "off"]
    with _started([sys.executable, "-m", *command], HERE, BARE_BODY=str(folder / "body")) as process:
        yield _ready(process, Address("127.0.0.1", port), "/")


@contextlib.contextmanager
def sockets(folder: Path, chunks: list[bytes]) -> Iterator[Server]:
    """Runs a server that writes these chunks to all connected clients on request."""
    (folder / "chunks").write_text("\n".join(chunk.hex() for chunk in chunks))
    port = _free_port()
    with _started([sys.executable, str(HERE / "sockets.py"), str(port), str(folder / "chunks")], HERE) as process:
        yield _ready(process, Address("127.0.0.1", port), "/")


@contextlib.contextmanager
def hook(certificate: Path) -> Iterator[Address]:
    """Runs a webhook over TLS that allows everything."""
    at = Address("127.0.0.1", _free_port())
    with _started([sys.executable, str(HERE / "hook.py"), str(at.port), str(certificate)], HERE):
        began = time.perf_counter()
        while not _answers(at):
            if time.perf_counter() - began > 60:
                raise SystemExit(f"nothing answers at {at.host}:{at.port}")
            time.sleep(0.001)
        yield at


def _answers(at: Address) -> bool:
    try:
        socket.create_connection(at, timeout=5).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _started(command: list[str], folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True, cwd=folder, env=os.environ | environment) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.terminate()


def _ready(process: subprocess.Popen[str], at: Address, path: str, *, context: ssl.SSLContext | None = None) -> Server:
    began = time.perf_counter()
    while time.perf_counter() - began < 60 and process.poll() is None:
        with contextlib.suppress(OSError), connected(at, context) as connection:
            connection.sendall(b"GET %b HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n" % path.encode())
            if connection.recv(100).startswith(b"HTTP/1.1 200"):
                return Server(process, at, time.perf_counter() - began)
        time.sleep(0.001)
    raise SystemExit(f"nothing answers at {at.host}:{at.port}")


def connected(at: Address, context: ssl.SSLContext | None) -> socket.socket:
    """Opens a connection for HTTP."""
    plain = socket.create_connection(at, timeout=5)
    return plain if context is None else context.wrap_socket(plain)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port
