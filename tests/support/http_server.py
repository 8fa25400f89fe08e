"""A real server process with an empty store in memory, for tests over HTTP, or over HTTPS as an administrator."""

from __future__ import annotations

import socket
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from support import server_process
from support.server_process import GC_CONTROLLERS, ServerProcess


@contextmanager
def memory_server_url(*options: str) -> Iterator[str]:
    """Runs a server over HTTP and yields its URL."""
    with run_memory_server(*options) as server:
        yield server.url


@contextmanager
def run_memory_server(*options: str) -> Iterator[ServerProcess]:
    """Runs a server over HTTP and yields its process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        server_process.run_server(Path(folder), "memory:", *GC_CONTROLLERS, *options) as server,
    ):
        yield server


SCHEMES = ("http", "https")


class Endpoint(NamedTuple):
    """The URL of a server: over plain HTTP, or over TLS with the administrator's certificate."""

    url: str
    context: ssl.SSLContext | None

    def connect(self) -> socket.socket:
        """Opens a connection for HTTP."""
        parts = urlsplit(self.url)
        plain = socket.create_connection((parts.hostname, parts.port), timeout=60)
        return plain if self.context is None else self.context.wrap_socket(plain, server_hostname="localhost")

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, verify=self.context or False, timeout=60)


@contextmanager
def run_endpoint(scheme: str, *options: str) -> Iterator[Endpoint]:
    """Runs a server over `http` or `https` and yields its endpoint."""
    if scheme == "http":
        with memory_server_url(*options) as url:
            yield Endpoint(url, None)
        return
    secure = [option for option in GC_CONTROLLERS if option != "--insecure"]
    with tempfile.TemporaryDirectory() as folder, server_process.run_server(Path(folder), "memory:", *secure, *options) as server:
        pki = Path(folder) / "probate.pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        yield Endpoint(server.url, context)
