"""A TLS transport that yields between pieces: it has one continuation at a time, and its bytes arrive in order."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme

from probate.core.aio.offload import WorkerThread
from probate.http.tls.transport import WRITES_AT_ONCE, TlsTransport

LARGE = bytes(range(256)) * 40_000


class PeerConnection:
    """Stands for the plain transport: keeps what is written, and passes it to a client in memory."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.writes = 0
        self.written = bytearray()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._client = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")

    def write(self, data: bytes) -> None:
        self.writes += 1
        self.written += data

    def writelines(self, pieces: Iterable[bytes]) -> None:
        self.write(b"".join(pieces))

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    resume_reading = close = abort = pause_reading

    def shake_hands(self) -> bytes:
        """Returns the client's next handshake message; empty once its handshake is complete."""
        self._take()
        try:
            self._client.do_handshake()
        except ssl.SSLWantReadError:
            return self._outgoing.read()
        return self._outgoing.read()

    def received(self) -> bytes:
        """Returns all application data that the client can decrypt: a record out of order raises `SSLError`."""
        self._take()
        found = bytearray()
        try:
            while piece := self._client.read(65_536):
                found += piece
        except ssl.SSLWantReadError:
            pass
        return bytes(found)

    def _take(self) -> None:
        self._incoming.write(bytes(self.written))
        self.written.clear()


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Returns the server's and the client's TLS context."""
    ca = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca.issue_cert("localhost").configure_cert(server)
    ca.configure_trust(client)
    return server, client


@asynccontextmanager
async def connect(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> AsyncIterator[tuple[TlsTransport, PeerConnection]]:
    """Yields a transport whose handshake is complete, and its wire."""
    wire, thread = PeerConnection(contexts[1]), WorkerThread("handshakes")
    plain: Any = wire
    transport = TlsTransport(
        contexts[0], lambda one: one.set_protocol(asyncio.Protocol()), handshake_thread=thread, handshake_seconds=60
    )
    transport.connection_made(plain)
    try:
        while not transport.handshake.done():
            if message := wire.shake_hands():
                transport.data_received(message)
            await asyncio.sleep(0)
        yield transport, wire
    finally:
        transport.connection_lost(None)
        thread.close()


def pause_and_resume(transport: TlsTransport) -> None:
    """Does what the plain transport does when a message of TLS itself fills it, and then leaves, before the loop's next turn."""
    transport.pause_writing()
    transport.resume_writing()


async def test_transport_that_was_resumed_before_its_continuation_had_two_of_them(contexts: Any) -> None:
    async with connect(contexts) as (transport, wire):
        transport.write(LARGE)
        for _ in range(5):
            pause_and_resume(transport)
        turns = []
        while transport.get_write_buffer_size():
            before = wire.writes
            await asyncio.sleep(0)
            turns.append(wire.writes - before)
        assert max(turns) <= WRITES_AT_ONCE
        assert wire.received() == LARGE


@pytest.mark.parametrize("end", ["connection_lost", "abort"])
async def test_forgotten_continuation_wrote_to_a_connection_that_had_ended(contexts: Any, end: str) -> None:
    async with connect(contexts) as (transport, wire):
        transport.write(LARGE)
        pause_and_resume(transport)
        if end == "abort":
            transport.abort()
        else:
            transport.connection_lost(None)
        before = wire.writes
        for _ in range(5):
            await asyncio.sleep(0)
        assert wire.writes == before


@pytest.mark.parametrize("seed", range(10))
async def test_bytes_arrive_in_order_and_once_however_often_writing_is_paused(contexts: Any, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    expected = bytearray()
    async with connect(contexts) as (transport, wire):
        for _ in range(200):
            lot = rng.randrange(5)
            if lot < 2:
                piece = rng.randbytes(rng.choice((1, 1_000, 16_384, 16_385, 500_000)))
                expected += piece
                transport.write(piece)
            elif lot == 2:
                transport.pause_writing()
            elif lot == 3:
                transport.resume_writing()
            else:
                await asyncio.sleep(0)
        transport.resume_writing()
        while transport.get_write_buffer_size():  # noqa: ASYNC110 nobody tells
            await asyncio.sleep(0)
        assert wire.received() == bytes(expected)
