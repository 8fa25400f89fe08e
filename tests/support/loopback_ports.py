"""Ports for servers that go and come back at the same place.

The system's own choice (port 0) will not do: while the server is away, anybody's outgoing connection may be given its port.
Workers that test side by side have ports of their own, so that none takes what another's server will want again.
"""

from __future__ import annotations

import os
import random
import socket

_MOST_WORKERS = 16
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _MOST_WORKERS
_given: set[int] = set()


def free_port() -> int:
    """A loopback port that nobody uses now, and that no outgoing connection takes: those come from above 32767."""
    while True:
        port = random.randrange(12_000 + _WORKER, 32_000, _MOST_WORKERS)  # noqa: S311
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
