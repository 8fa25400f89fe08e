"""A real server with an empty store in memory, for tests that ask it over HTTP, or over HTTPS as an administrator."""

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
from support.server_process import FEW, Server


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Its URL."""
    with started(*options) as server:
        yield server.url


@contextmanager
def started(*options: str) -> Iterator[Server]:
    """The server itself."""
    with tempfile.TemporaryDirectory() as folder, server_process.serving(Path(folder), "memory:", *FEW, *options) as server:
        yield server


SCHEMES = ("http", "https")


class Endpoint(NamedTuple):
    """How a server is reached: in plain HTTP, or over TLS with the administrator's certificate."""

    url: str
    context: ssl.SSLContext | None

    def connect(self) -> socket.socket:
        """A connection on which HTTP can be spoken."""
        at = urlsplit(self.url)
        plain = socket.create_connection((at.hostname, at.port), timeout=60)
        return plain if self.context is None else self.context.wrap_socket(plain, server_hostname="localhost")

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, verify=self.context or False, timeout=60)


@contextmanager
def serving_over(scheme: str, *options: str) -> Iterator[Endpoint]:
    """A server that is asked over `http` or `https`."""
    if scheme == "http":
        with serving(*options) as url:
            yield Endpoint(url, None)
        return
    secured = [option for option in FEW if option != "--insecure"]
    with tempfile.TemporaryDirectory() as folder, server_process.serving(Path(folder), "memory:", *secured, *options) as server:
        pki = Path(folder) / "probate.pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        yield Endpoint(server.url, context)
