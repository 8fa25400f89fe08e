"""Accepts connections and limits how many are open at once.

A connection counts from the moment it is accepted. A connection whose handshake is unfinished, or that is idle between requests,
costs memory but serves nothing. So a new connection displaces one of these instead of being refused:

    too many handshakes        the oldest handshake is aborted
    too many connections       the connections that have been idle for longest are closed, or else the oldest handshake

A client whose connection is closed between requests reconnects, as clients do whenever a connection ends. A new connection is
refused only while every open connection is serving a request.

One address may hold nine times as many connections as are free: nine tenths of all if no other address is connected (all clients of
a test, or behind a proxy, share one address). Beyond that share, a new connection displaces others from the same address only.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import socket
import ssl
from collections.abc import Callable

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from probate.api import status
from probate.core import errors
from probate.core.aio.offload import WorkerThread
from probate.core.errors import Details
from probate.core.logs import facts
from probate.core.sparse_tables import Table
from probate.http.connection import Connection
from probate.http.fair_limit import FairLimit
from probate.http.limit_log import LimitLog
from probate.http.tls import client_certificates
from probate.http.tls.transport import TlsTransport

ADDRESS_FACTOR = 9
"""How many times the number of free connections one address may hold."""
MAX_HANDSHAKES = 1_000
"""Connections whose handshake is unfinished."""
IDLE_CLOSED_AT_ONCE = 100
"""Idle connections that are closed together. Searching for them takes a moment, so it is not repeated for each new connection."""
RESERVED_DESCRIPTORS = 256
"""File descriptors kept for everything that is not a client's connection."""
ACCEPTS_PER_WAKEUP = 4
HANDSHAKE_SECONDS = 10.0
ACCEPT_PAUSE_SECONDS = 0.1
"""How long a listening socket accepts nothing after the system refused a connection (no descriptors or memory)."""

log = logging.getLogger(__name__)


class Acceptor:
    """The connections of one server, from accept to close. `create_connection` makes the protocol of an established connection."""

    def __init__(
        self,
        create_connection: Callable[[], Connection],
        context: Callable[[], ssl.SSLContext | None],
        *,
        patience: float,
        limit: int,
        limits: LimitLog,
    ) -> None:
        self._create_connection = create_connection
        self._limits = limits
        self._addresses = FairLimit(limit, factor=ADDRESS_FACTOR)
        self._idle_closed_at_once = min(IDLE_CLOSED_AT_ONCE, max(1, limit // 20))
        self._context = context
        self._handshake_seconds = min(patience, HANDSHAKE_SECONDS)
        self._handshake_thread = WorkerThread("tls-handshakes")
        self._listeners: list[socket.socket] = []
        self._handshakes: dict[socket.socket, tuple[str, asyncio.Task[None]]] = {}  # by age, oldest first
        self._established: dict[Connection, str] = {}  # connection -> address
        self.closed_connections = 0

    def listen_on(self, listener: socket.socket) -> None:
        """Starts to accept connections on a listening socket."""
        listener.setblocking(False)
        self._listeners.append(listener)
        self._watch(listener)

    def _watch(self, listener: socket.socket) -> None:
        asyncio.get_running_loop().add_reader(listener.fileno(), self._accept, listener)

    def tables(self) -> tuple[Table, ...]:
        """Returns the dicts that have an entry for each connection."""
        return self._handshakes, self._established

    def close(self) -> None:
        """Stops accepting and aborts unfinished handshakes. Established connections stay."""
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener.fileno())
        self._listeners.clear()
        while self._handshakes:
            self._abort_handshake(next(iter(self._handshakes)))
        self._handshake_thread.close()

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_WAKEUP):
            try:
                accepted, peer_address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no file descriptors or no memory left
                log.error("acceptor cannot accept connections", extra=facts(error=str(error)))  # noqa: TRY400 no traceback needed
                self._pause_accepting(listener)
                return
            self._admit(accepted, str(peer_address[0]))

    def _pause_accepting(self, listener: socket.socket) -> None:
        self._close_idle()
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener.fileno())
        loop.call_later(ACCEPT_PAUSE_SECONDS, lambda: self._watch(listener) if listener in self._listeners else None)

    def _admit(self, accepted: socket.socket, address: str) -> None:
        if not self._has_room(address):
            self._refuse(accepted)
            return
        if len(self._handshakes) >= MAX_HANDSHAKES:
            self._limits.record("handshakes", of=MAX_HANDSHAKES)
            self._abort_handshake(next(iter(self._handshakes)))
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._addresses.take(address)
        self._handshakes[accepted] = address, (task := asyncio.get_running_loop().create_task(self._establish(accepted)))
        task.add_done_callback(lambda task: self._on_handshake_done(accepted, task))

    def _has_room(self, address: str) -> bool:
        """Whether one more connection from this address is accepted. Closes the connections that it displaces."""
        limit = self._addresses
        if limit.total >= limit.limit:
            self._limits.record("connections", address=address, total=limit.total, of=limit.limit)
            if not self._make_room():
                return False
        if not limit.can_take(address):
            self._limits.record("connections of one address", address=address, own=limit.count(address), of=limit.limit)
            return self._make_room(address)
        return True

    async def _establish(self, accepted: socket.socket) -> None:
        context, loop = self._context(), asyncio.get_running_loop()

        def on_established(transport: asyncio.Transport) -> None:
            self._on_established(accepted, transport, context)

        try:
            if context is None:
                await loop.connect_accepted_socket(lambda: TransportReceiver(on_established), accepted)
            else:
                await self._shake_hands(accepted, context, on_established)
        except OSError:
            accepted.close()

    async def _shake_hands(
        self, accepted: socket.socket, context: ssl.SSLContext, on_established: Callable[[asyncio.Transport], None]
    ) -> None:
        """Returns when the handshake has succeeded, failed or timed out."""
        transport = TlsTransport(
            context, on_established, handshake_thread=self._handshake_thread, handshake_seconds=self._handshake_seconds
        )
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: transport, accepted)
            await transport.handshake
        except asyncio.CancelledError:
            transport.abort()
            raise

    def _on_handshake_done(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        """Frees the place of a handshake that failed."""
        if task.cancelled():
            accepted.close()  # a task that is cancelled before it starts does not close its socket
        if accepted in self._handshakes:
            self._addresses.release(self._handshakes.pop(accepted)[0])

    def _on_established(self, accepted: socket.socket, transport: asyncio.Transport, context: ssl.SSLContext | None) -> None:
        """Hands a transport whose handshake is complete to a new connection. `context` is the one that the handshake used."""
        ssl_object = transport.get_extra_info("ssl_object")
        if accepted not in self._handshakes:  # aborted at the moment at which the handshake completed
            transport.abort()
            return
        if ssl_object is not None and client_certificates.is_resumed(ssl_object):
            transport.abort()
            return
        connection = self._create_connection()
        self._established[connection] = self._handshakes.pop(accepted)[0]
        connection.on_close = self._on_close
        transport.set_protocol(connection)
        connection.connection_made(transport)
        if context is not self._context() and connection.peer is not None:
            connection.shutdown()  # the client CAs changed during the handshake: the client must present its certificate again

    def _on_close(self, connection: Connection) -> None:
        address = self._established.pop(connection, None)
        if address is not None:
            self._addresses.release(address)
            self.closed_connections += 1

    def _abort_handshake(self, accepted: socket.socket) -> None:
        address, task = self._handshakes.pop(accepted)
        self._addresses.release(address)
        task.cancel()

    def _make_room(self, address: str = "") -> bool:
        """Closes the longest idle connections, or else the oldest handshake; only those of `address` if one is given."""
        if self._close_idle(address):
            return True
        oldest = next((accepted for accepted, (own, _) in self._handshakes.items() if address in {"", own}), None)
        if oldest is not None:
            self._abort_handshake(oldest)
        return oldest is not None

    def _close_idle(self, address: str = "") -> bool:
        """Closes the longest idle connections. Returns whether any were idle."""
        idle = [connection for connection, own in self._established.items() if connection.is_idle and address in {"", own}]
        for connection in heapq.nsmallest(self._idle_closed_at_once, idle, key=lambda connection: connection.last_activity):
            self._on_close(connection)
            connection.transport.abort()
        return bool(idle)

    def _refuse(self, accepted: socket.socket) -> None:
        if self._context() is None:
            body = orjson.dumps(
                status.failure_status(errors.TooManyRequests("too many connections", Details(retry_after_seconds=1)))
            )
            headers = b"content-type: application/json\r\nretry-after: 1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            accepted.setblocking(False)
            with contextlib.suppress(OSError):  # the client has disconnected already
                accepted.send(STATUS_LINE[429] + headers % len(body) + body)
        accepted.close()


class TransportReceiver(asyncio.Protocol):
    """Receives the transport of a plain HTTP connection and passes it on: a protocol without buffers."""

    __slots__ = ("_on_transport",)

    def __init__(self, on_transport: Callable[[asyncio.Transport], None]) -> None:
        self._on_transport = on_transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._on_transport(transport)  # type: ignore[arg-type]
