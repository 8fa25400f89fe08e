"""Who is refused at the acceptor, on real sockets."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import uvloop

from probate.core.clock import SystemClock
from probate.http.acceptor import Acceptor
from probate.http.limit_log import LimitLog


def test_refused_client_that_has_disconnected_is_not_an_error() -> None:
    """Its socket cannot be written to. That was an error in the log for each such connection, and as many as a client likes."""
    failed: list[dict[str, Any]] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failed.append(context))
        acceptor = Acceptor(_unexpected_connection, lambda: None, patience=60, limit=0, limits=LimitLog(SystemClock()))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with socket.create_connection(listener.getsockname()) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it ends with a reset
            with socket.create_connection(listener.getsockname()) as patient:
                patient.setblocking(False)
                acceptor.listen_on(listener)
                answer = await asyncio.wait_for(loop.sock_recv(patient, 1_000), 60)
            acceptor.close()
        assert answer.startswith(b"HTTP/1.1 429 ")

    uvloop.run(run())
    assert failed == []


def _unexpected_connection() -> Any:
    raise AssertionError("no connection is expected")
