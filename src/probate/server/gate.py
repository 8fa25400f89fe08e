"""How many may come in: connections are counted from the moment they are accepted, and there is always room for one more.

Who has not finished a handshake, or waits between requests, costs the server something and is served nothing. So when too many are
on their way in, the one that has been so for longest goes; and when too many are connected, those that have been idle for longest.
A client that was cut off between requests connects again, as any client does when a connection ends. Only if all that are connected
are being answered is somebody turned away.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import socket
import ssl
from collections.abc import Callable

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from probate import errors
from probate.errors import Details
from probate.machinery import status
from probate.server.connections import Connection
from probate.server.tls.transport import TlsTransport

MAX_CONNECTIONS = 12_000
MAX_ARRIVING = 1_000
"""Connections whose handshake is not over."""
CUT_AT_ONCE = 100
"""Idle connections that are cut off when there is no room: to look for them takes a moment, so it is not done for each."""
RESERVED = 256
"""File descriptors that are kept for all else."""
ACCEPTED_AT_ONCE = 4
HANDSHAKE_SECONDS = 10.0
REST_SECONDS = 0.1
"""After which nobody is accepted for a while, if the system allows no more."""

log = logging.getLogger(__name__)


class Gate:
    """Who is connected to one server. `make` makes a connection of somebody who has come in."""

    def __init__(
        self, make: Callable[[], Connection], context: Callable[[], ssl.SSLContext | None], *, patience: float, limit: int
    ) -> None:
        self._make = make
        self._limit = limit
        self._context = context
        self._handshake = min(patience, HANDSHAKE_SECONDS)
        self._listening: list[socket.socket] = []
        self._arriving: dict[socket.socket, asyncio.Task[None]] = {}  # in the order in which they came
        self._inside: set[Connection] = set()
        self.departures = 0  # connections that have ended

    def open(self, listening: socket.socket) -> None:
        """Let people in from here."""
        listening.setblocking(False)
        self._listening.append(listening)
        self._follow(listening)

    def _follow(self, listening: socket.socket) -> None:
        asyncio.get_running_loop().add_reader(listening.fileno(), self._accept, listening)

    def close(self) -> None:
        """Nobody else comes in."""
        for one in self._listening:
            asyncio.get_running_loop().remove_reader(one.fileno())
        self._listening.clear()
        while self._arriving:
            self._turn_away(next(iter(self._arriving)))

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                arrived, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # there are no descriptors or no memory left
                log.error("nobody can be let in: %s", error)  # noqa: TRY400 the reason is all there is to tell
                self._rest(listening)
                return
            self._arrive(arrived)

    def _rest(self, listening: socket.socket) -> None:
        self._make_room()
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())
        loop.call_later(REST_SECONDS, lambda: self._follow(listening) if listening in self._listening else None)

    def _arrive(self, arrived: socket.socket) -> None:
        if len(self._inside) + len(self._arriving) >= self._limit and not self._make_room():
            self._refuse(arrived)
            return
        if len(self._arriving) >= MAX_ARRIVING:
            self._turn_away(next(iter(self._arriving)))
        arrived.setblocking(False)
        arrived.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._arriving[arrived] = asyncio.get_running_loop().create_task(self._bring_in(arrived))

    async def _bring_in(self, arrived: socket.socket) -> None:
        context, loop = self._context(), asyncio.get_running_loop()
        try:
            if context is None:
                await loop.connect_accepted_socket(lambda: Arrival(self), arrived)
            else:
                await self._shake_hands(arrived, context)
        except OSError:
            arrived.close()
        finally:
            self._arriving.pop(arrived, None)

    async def _shake_hands(self, arrived: socket.socket, context: ssl.SSLContext) -> None:
        """Returns when the handshake is over, in whatever way."""
        secured = TlsTransport(context, self.enter, handshake_seconds=self._handshake)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: secured, arrived)
            await secured.handshake
        except asyncio.CancelledError:
            secured.abort()
            raise

    def enter(self, transport: asyncio.Transport) -> None:
        """Somebody is in."""
        connection = self._make()
        self._inside.add(connection)
        connection.on_leaving = self._leave
        transport.set_protocol(connection)
        connection.connection_made(transport)

    def _leave(self, connection: Connection) -> None:
        self._inside.discard(connection)
        self.departures += 1

    def _turn_away(self, arrived: socket.socket) -> None:
        self._arriving.pop(arrived).cancel()

    def _make_room(self) -> bool:
        """Cut off those that have been idle for longest. Returns whether there were any."""
        idle = [one for one in self._inside if one.is_idle]
        for one in heapq.nsmallest(CUT_AT_ONCE, idle, key=lambda one: one.since):
            self._inside.discard(one)
            one.transport.abort()
        return bool(idle)

    def _refuse(self, arrived: socket.socket) -> None:
        if self._context() is None:
            body = orjson.dumps(status.failure(errors.TooManyRequests("too many connections", Details(retry_after_seconds=1))))
            about = b"content-type: application/json\r\nretry-after: 1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            arrived.setblocking(False)
            arrived.send(STATUS_LINE[429] + about % len(body) + body)
        arrived.close()


class Arrival(asyncio.Protocol):
    """Somebody whose handshake is not over: as little as can be."""

    __slots__ = ("_gate",)

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._gate.enter(transport)  # type: ignore[arg-type]
