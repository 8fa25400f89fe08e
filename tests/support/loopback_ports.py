"""Ports for servers that stop and start again at the same port.

A port chosen by the system (port 0) does not work: while the server is down, the system may use the port for an outgoing
connection. Each test worker has its own set of ports, so that no worker takes the port of another worker's stopped server.
"""

from __future__ import annotations

import os
import random
import socket

_MAX_WORKERS = 16
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _MAX_WORKERS
_used: set[int] = set()


def free_port() -> int:
    """Returns a loopback port that is free now and never used for outgoing connections: those get ports above 32767."""
    while True:
        port = random.randrange(12_000 + _WORKER, 32_000, _MAX_WORKERS)  # noqa: S311
        if port not in _used and _is_free(port):
            _used.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
