"""How many may come in: connections are counted from the moment they are accepted, and there is always room for one more.

Who has not finished a handshake, or waits between requests, costs the server something and is served nothing. So when too many are
on their way in, the one that has been so for longest goes; and when too many are connected, those that have been idle for longest.
A client that was cut off between requests connects again, as any client does when a connection ends. Only if all that are connected
are being answered is somebody turned away.

One address may have nine times as many connections as are free, so nine tenths of all if it is the only one (all clients of a
test, or behind a proxy, have one address). One more is taken at the cost of others from the same address.
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
from probate.core.aio.offload import Thread
from probate.core.errors import Details
from probate.http.connection import Connection
from probate.http.fair_limit import FairLimit
from probate.http.limit_log import LimitLog
from probate.http.tls import client_certificates
from probate.http.tls.transport import TlsTransport

ADDRESS_FACTOR = 9
"""One address has at most so many times as many connections as are free."""
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
        self,
        make: Callable[[], Connection],
        context: Callable[[], ssl.SSLContext | None],
        *,
        patience: float,
        limit: int,
        limits: LimitLog,
    ) -> None:
        self._make = make
        self._limits = limits
        self._addresses = FairLimit(limit, factor=ADDRESS_FACTOR)
        self._cut_at_once = min(CUT_AT_ONCE, max(1, limit // 20))
        self._context = context
        self._handshake = min(patience, HANDSHAKE_SECONDS)
        self._handshakes = Thread("tls-handshakes")
        self._listening: list[socket.socket] = []
        self._arriving: dict[socket.socket, tuple[str, asyncio.Task[None]]] = {}  # in the order in which they came
        self._inside: dict[Connection, str] = {}  # by which address
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
        self._handshakes.close()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                arrived, come_from = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # there are no descriptors or no memory left
                log.error("nobody can be let in: %s", error)  # noqa: TRY400 the reason is all there is to tell
                self._rest(listening)
                return
            self._arrive(arrived, str(come_from[0]))

    def _rest(self, listening: socket.socket) -> None:
        self._cut_idle()
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())
        loop.call_later(REST_SECONDS, lambda: self._follow(listening) if listening in self._listening else None)

    def _arrive(self, arrived: socket.socket, address: str) -> None:
        if not self._has_room(address):
            self._refuse(arrived)
            return
        if len(self._arriving) >= MAX_ARRIVING:
            self._limits.reached("handshakes", of=MAX_ARRIVING)
            self._turn_away(next(iter(self._arriving)))
        arrived.setblocking(False)
        arrived.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._addresses.take(address)
        self._arriving[arrived] = address, (task := asyncio.get_running_loop().create_task(self._bring_in(arrived)))
        task.add_done_callback(lambda task: self._is_over(arrived, task))

    def _has_room(self, address: str) -> bool:
        """Whether one more from this address can come in. Whoever has to go for it is gone."""
        limit = self._addresses
        if limit.total >= limit.limit:
            self._limits.reached("connections", address=address, total=limit.total, of=limit.limit)
            if not self._make_room():
                return False
        if not limit.admits(address):
            self._limits.reached("connections of one address", address=address, own=limit.held_by(address), of=limit.limit)
            return self._make_room(address)
        return True

    async def _bring_in(self, arrived: socket.socket) -> None:
        context, loop = self._context(), asyncio.get_running_loop()

        def enter(transport: asyncio.Transport) -> None:
            self._enter(arrived, transport, context)

        try:
            if context is None:
                await loop.connect_accepted_socket(lambda: Arrival(enter), arrived)
            else:
                await self._shake_hands(arrived, context, enter)
        except OSError:
            arrived.close()

    async def _shake_hands(
        self, arrived: socket.socket, context: ssl.SSLContext, enter: Callable[[asyncio.Transport], None]
    ) -> None:
        """Returns when the handshake is over, in whatever way."""
        secured = TlsTransport(context, enter, handshake_thread=self._handshakes, handshake_seconds=self._handshake)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: secured, arrived)
            await secured.handshake
        except asyncio.CancelledError:
            secured.abort()
            raise

    def _is_over(self, arrived: socket.socket, task: asyncio.Task[None]) -> None:
        """A handshake has come to its end. If it failed, its place is free again."""
        if task.cancelled():
            arrived.close()  # a task that was cancelled before it began has not done so
        if arrived in self._arriving:
            self._addresses.release(self._arriving.pop(arrived)[0])

    def _enter(self, arrived: socket.socket, transport: asyncio.Transport, context: ssl.SSLContext | None) -> None:
        """Somebody is in, after a handshake with this context."""
        secured = transport.get_extra_info("ssl_object")
        if arrived not in self._arriving:  # turned away at the moment at which the handshake was complete
            transport.abort()
            return
        if secured is not None and client_certificates.is_resumed(secured):
            transport.abort()
            return
        connection = self._make()
        self._inside[connection] = self._arriving.pop(arrived)[0]
        connection.on_leaving = self._leave
        transport.set_protocol(connection)
        connection.connection_made(transport)
        if context is not self._context() and connection.peer is not None:
            connection.shutdown()  # who may sign clients' certificates was changed during the handshake: it is shown again

    def _leave(self, connection: Connection) -> None:
        address = self._inside.pop(connection, None)
        if address is not None:
            self._addresses.release(address)
            self.departures += 1

    def _turn_away(self, arrived: socket.socket) -> None:
        address, task = self._arriving.pop(arrived)
        self._addresses.release(address)
        task.cancel()

    def _make_room(self, address: str = "") -> bool:
        """Let go whoever waits for longest: between requests, or else in a handshake; of one address if it is named."""
        if self._cut_idle(address):
            return True
        waiting = next((one for one, (whose, _) in self._arriving.items() if address in {"", whose}), None)
        if waiting is not None:
            self._turn_away(waiting)
        return waiting is not None

    def _cut_idle(self, address: str = "") -> bool:
        """Cut off those that have been idle for longest. Returns whether there were any."""
        idle = [one for one, whose in self._inside.items() if one.is_idle and address in {"", whose}]
        for one in heapq.nsmallest(self._cut_at_once, idle, key=lambda one: one.since):
            self._leave(one)
            one.transport.abort()
        return bool(idle)

    def _refuse(self, arrived: socket.socket) -> None:
        if self._context() is None:
            body = orjson.dumps(status.failure(errors.TooManyRequests("too many connections", Details(retry_after_seconds=1))))
            about = b"content-type: application/json\r\nretry-after: 1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            arrived.setblocking(False)
            with contextlib.suppress(OSError):  # it has gone already
                arrived.send(STATUS_LINE[429] + about % len(body) + body)
        arrived.close()


class Arrival(asyncio.Protocol):
    """Somebody whose handshake is not over: as little as can be."""

    __slots__ = ("_enter",)

    def __init__(self, enter: Callable[[asyncio.Transport], None]) -> None:
        self._enter = enter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._enter(transport)  # type: ignore[arg-type]
