"""The server's side of TLS on real sockets: unsent data is counted, and nothing is lost, duplicated or kept."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trustme
import uvloop

from probate.core.aio.offload import WorkerThread
from probate.http.tls.transport import FEED_BYTES, TlsTransport

LARGE = bytes(range(256)) * 40_000
"""More than the system buffers for a client that reads nothing."""


class App(asyncio.Protocol):
    """Stands for a connection: records what it receives."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.received = b""
        self.is_paused = False
        self.lost = asyncio.Event()
        self.changed = asyncio.Event()

    def on_handshake(self, transport: TlsTransport) -> None:
        self.transport = transport
        transport.set_protocol(self)
        self.changed.set()

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.changed.set()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self.changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    async def until(self, check: Callable[[], bool]) -> None:
        while not check():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 60)


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Returns the server's and the client's TLS context."""
    ca = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca.issue_cert("localhost").configure_cert(server)
    ca.configure_trust(client)
    return server, client


@pytest.fixture(params=[uvloop.run, asyncio.run], ids=["uvloop", "asyncio"])
def run_in_loop(request: pytest.FixtureRequest) -> Any:
    return request.param


@contextlib.asynccontextmanager
async def connect(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> AsyncIterator[tuple[App, ssl.SSLSocket]]:
    """Yields an app behind TLS, and its client, which blocks on threads."""
    server_socket, client_socket = socket.socketpair()
    client_socket.settimeout(60)
    app, thread = App(), WorkerThread("handshakes")
    loop = asyncio.get_running_loop()
    server_socket.setblocking(False)
    transport = TlsTransport(contexts[0], app.on_handshake, handshake_thread=thread, handshake_seconds=60)
    await loop.connect_accepted_socket(lambda: transport, server_socket)
    client = await asyncio.to_thread(contexts[1].wrap_socket, client_socket, server_hostname="localhost")
    await transport.handshake
    try:
        yield app, client
    finally:
        client.close()
        transport.abort()
        thread.close()


def read_to_end(client: ssl.SSLSocket) -> bytes:
    """Reads until the server's close_notify; an end without it is an `SSLError`."""
    client.suppress_ragged_eofs = False  # type: ignore[attr-defined]
    return b"".join(iter(lambda: client.recv(65_536), b""))


def test_unread_data_is_counted_and_arrives_complete(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connect(contexts) as (app, client):
            app.transport.write(LARGE)
            assert app.is_paused
            assert app.transport.get_write_buffer_size() > len(LARGE) // 2
            app.transport.write(b"last")
            app.transport.close()
            assert await asyncio.to_thread(read_to_end, client) == LARGE + b"last"
            await asyncio.wait_for(app.lost.wait(), 60)

    run_in_loop(run())


def test_app_resumes_writing_when_the_client_has_read(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connect(contexts) as (app, client):
            app.transport.write(LARGE)
            reading = asyncio.get_running_loop().run_in_executor(None, read_to_end, client)
            await app.until(lambda: not app.is_paused)
            assert app.transport.get_write_buffer_size() < len(LARGE) // 2
            app.transport.write_eof()
            assert await reading == LARGE

    run_in_loop(run())


def test_end_of_writing_is_sent_after_all_written_data(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connect(contexts) as (app, client):
            app.transport.write(LARGE)
            app.transport.write_eof()
            app.transport.write(b"too late")
            assert await asyncio.to_thread(read_to_end, client) == LARGE

    run_in_loop(run())


def test_app_that_pauses_reading_receives_nothing_until_it_resumes(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connect(contexts) as (app, client):
            sent = LARGE[: 20 * FEED_BYTES]
            app.data_received = lambda data: _receive_and_pause(app, data)  # type: ignore[method-assign]
            sending = asyncio.get_running_loop().run_in_executor(None, client.sendall, sent)
            while len(app.received) < len(sent):
                size = len(app.received)
                await app.until(lambda size=size: len(app.received) > size)  # type: ignore[misc]
                received = len(app.received)
                await asyncio.sleep(0)
                assert len(app.received) == received
                app.transport.resume_reading()
            await sending
            assert app.received == sent

    run_in_loop(run())


def _receive_and_pause(app: App, data: bytes) -> None:
    assert len(data) <= FEED_BYTES
    app.transport.pause_reading()
    App.data_received(app, data)


def test_app_that_has_ended_writing_receives_nothing_more_of_one_read(contexts: Any, run_in_loop: Any) -> None:
    """To answer what TLS finds in the rest of one large read would be a write after the end of writing."""

    async def run() -> None:
        async with connect(contexts) as (app, client):
            app.data_received = lambda data: _receive_and_end(app, data)  # type: ignore[method-assign]
            app.transport.pause_reading()
            await asyncio.to_thread(client.sendall, LARGE[: 3 * FEED_BYTES])
            app.transport.resume_reading()
            await app.until(lambda: bool(app.received))
            client.close()
            await asyncio.wait_for(app.lost.wait(), 60)
            assert len(app.received) <= FEED_BYTES

    run_in_loop(run())


def _receive_and_end(app: App, data: bytes) -> None:
    App.data_received(app, data)
    app.transport.write_eof()


@pytest.mark.parametrize(
    "data", [b"", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n"], ids=["nothing", "part", "no TLS"]
)
def test_unfinished_handshake_closes_the_connection(contexts: Any, run_in_loop: Any, data: bytes) -> None:
    async def run() -> None:
        server_socket, client_socket = socket.socketpair()
        server_socket.setblocking(False)
        transport = TlsTransport(contexts[0], _unexpected, handshake_thread=WorkerThread("handshakes"), handshake_seconds=0.01)
        with client_socket:
            client_socket.settimeout(60)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: transport, server_socket)
            client_socket.sendall(data)
            await asyncio.wait_for(transport.handshake, 60)
            while await asyncio.to_thread(client_socket.recv, 1_000):
                pass
            assert transport.is_closing()

    run_in_loop(run())


def _unexpected(_: TlsTransport) -> None:
    raise AssertionError("the handshake was not finished")


def test_aborted_connection_buffers_nothing(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connect(contexts) as (app, _):
            app.transport.write(LARGE)
            app.transport.abort()
            await asyncio.wait_for(app.lost.wait(), 60)
            app.transport.write(b"nobody is there")
            assert app.transport.get_write_buffer_size() == 0

    run_in_loop(run())


def test_handshake_runs_on_its_thread_and_data_after_it_is_not_lost(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        server_socket, client_socket = socket.socketpair()
        server_socket.setblocking(False)
        client_socket.settimeout(60)
        app, thread, is_free = App(), WorkerThread("handshakes"), threading.Event()
        thread.submit(is_free.wait)
        transport = TlsTransport(contexts[0], app.on_handshake, handshake_thread=thread, handshake_seconds=60)
        await asyncio.get_running_loop().connect_accepted_socket(lambda: transport, server_socket)
        sending = asyncio.get_running_loop().run_in_executor(None, _shake_hands_and_send, contexts[1], client_socket, LARGE)
        await asyncio.wait([asyncio.ensure_future(transport.handshake)], timeout=0.1)
        assert not transport.handshake.done()
        is_free.set()
        await transport.handshake
        await app.until(lambda: len(app.received) == len(LARGE))
        assert app.received == LARGE
        (await sending).close()
        await asyncio.wait_for(app.lost.wait(), 60)
        thread.close()

    run_in_loop(run())


def _shake_hands_and_send(context: ssl.SSLContext, line: socket.socket, data: bytes) -> ssl.SSLSocket:
    client = context.wrap_socket(line, server_hostname="localhost")
    client.sendall(data)
    return client


def test_connection_aborted_or_lost_during_a_handshake_step_ends(contexts: Any, run_in_loop: Any) -> None:
    async def run(*, is_lost: bool) -> None:
        server_socket, client_socket = socket.socketpair()
        server_socket.setblocking(False)
        thread, is_free = WorkerThread("handshakes"), threading.Event()
        thread.submit(is_free.wait)
        transport = TlsTransport(contexts[0], _unexpected, handshake_thread=thread, handshake_seconds=60)
        await asyncio.get_running_loop().connect_accepted_socket(lambda: transport, server_socket)
        hello = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            contexts[1].wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
        client_socket.sendall(hello.read())
        await asyncio.sleep(0.05)
        if is_lost:
            client_socket.close()
        transport.abort()
        await asyncio.wait_for(transport.handshake, 60)
        is_free.set()
        await thread.run(lambda: None)
        await asyncio.sleep(0)
        client_socket.close()
        thread.close()

    run_in_loop(run(is_lost=False))
    run_in_loop(run(is_lost=True))
