"""The server's side of TLS on real sockets: what is not sent is counted, and nothing is lost, doubled or kept."""

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

from probate.core.aio.offload import Thread
from probate.http.tls.transport import FEED_BYTES, TlsTransport

LARGE = bytes(range(256)) * 40_000
"""More than the system holds for a client that reads nothing."""


class App(asyncio.Protocol):
    """What a connection would be: remembers what it is told."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.received = b""
        self.is_paused = False
        self.lost = asyncio.Event()
        self.news = asyncio.Event()

    def enter(self, transport: TlsTransport) -> None:
        self.transport = transport
        transport.set_protocol(self)
        self.news.set()

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.news.set()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self.news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    async def until(self, check: Callable[[], bool]) -> None:
        while not check():
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 60)


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's and the client's."""
    ca = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca.issue_cert("localhost").configure_cert(server)
    ca.configure_trust(client)
    return server, client


@pytest.fixture(params=[uvloop.run, asyncio.run], ids=["uvloop", "asyncio"])
def run_in_loop(request: pytest.FixtureRequest) -> Any:
    return request.param


@contextlib.asynccontextmanager
async def connected(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> AsyncIterator[tuple[App, ssl.SSLSocket]]:
    """An app behind TLS, and its client, which speaks from threads."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(60)
    app, thread = App(), Thread("handshakes")
    loop = asyncio.get_running_loop()
    ours.setblocking(False)
    stream = TlsTransport(contexts[0], app.enter, handshake_thread=thread, handshake_seconds=60)
    await loop.connect_accepted_socket(lambda: stream, ours)
    client = await asyncio.to_thread(contexts[1].wrap_socket, theirs, server_hostname="localhost")
    await stream.handshake
    try:
        yield app, client
    finally:
        client.close()
        stream.abort()
        thread.close()


def rest_of(client: ssl.SSLSocket) -> bytes:
    """All until the server says that nothing more comes; an end without a word is an `SSLError`."""
    client.suppress_ragged_eofs = False  # type: ignore[attr-defined]
    return b"".join(iter(lambda: client.recv(65_536), b""))


def test_what_a_client_has_not_read_is_counted_and_arrives_whole(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connected(contexts) as (app, client):
            app.transport.write(LARGE)
            assert app.is_paused
            assert app.transport.get_write_buffer_size() > len(LARGE) // 2
            app.transport.write(b"last")
            app.transport.close()
            assert await asyncio.to_thread(rest_of, client) == LARGE + b"last"
            await asyncio.wait_for(app.lost.wait(), 60)

    run_in_loop(run())


def test_app_writes_on_when_the_client_has_read(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connected(contexts) as (app, client):
            app.transport.write(LARGE)
            reading = asyncio.get_running_loop().run_in_executor(None, rest_of, client)
            await app.until(lambda: not app.is_paused)
            assert app.transport.get_write_buffer_size() < len(LARGE) // 2
            app.transport.write_eof()
            assert await reading == LARGE

    run_in_loop(run())


def test_end_of_writing_is_told_after_all_that_was_written(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connected(contexts) as (app, client):
            app.transport.write(LARGE)
            app.transport.write_eof()
            app.transport.write(b"too late")
            assert await asyncio.to_thread(rest_of, client) == LARGE

    run_in_loop(run())


def test_app_that_pauses_reading_gets_nothing_until_it_reads_on(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connected(contexts) as (app, client):
            sent = LARGE[: 20 * FEED_BYTES]
            app.data_received = lambda data: _take_one(app, data)  # type: ignore[method-assign]
            sending = asyncio.get_running_loop().run_in_executor(None, client.sendall, sent)
            while len(app.received) < len(sent):
                size = len(app.received)
                await app.until(lambda size=size: len(app.received) > size)  # type: ignore[misc]
                taken = len(app.received)
                await asyncio.sleep(0)
                assert len(app.received) == taken
                app.transport.resume_reading()
            await sending
            assert app.received == sent

    run_in_loop(run())


def _take_one(app: App, data: bytes) -> None:
    assert len(data) <= FEED_BYTES
    app.transport.pause_reading()
    App.data_received(app, data)


def test_app_that_has_ended_writing_gets_nothing_of_what_came_together(contexts: Any, run_in_loop: Any) -> None:
    """The rest of one large read: to answer to what TLS finds in it would be a write after the end of writing."""

    async def run() -> None:
        async with connected(contexts) as (app, client):
            app.data_received = lambda data: _take_and_end(app, data)  # type: ignore[method-assign]
            app.transport.pause_reading()
            await asyncio.to_thread(client.sendall, LARGE[: 3 * FEED_BYTES])
            app.transport.resume_reading()
            await app.until(lambda: bool(app.received))
            client.close()
            await asyncio.wait_for(app.lost.wait(), 60)
            assert len(app.received) <= FEED_BYTES

    run_in_loop(run())


def _take_and_end(app: App, data: bytes) -> None:
    App.data_received(app, data)
    app.transport.write_eof()


@pytest.mark.parametrize(
    "said", [b"", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n"], ids=["nothing", "part", "no TLS"]
)
def test_handshake_that_is_not_finished_ends_the_connection(contexts: Any, run_in_loop: Any, said: bytes) -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        stream = TlsTransport(contexts[0], _unexpected, handshake_thread=Thread("handshakes"), handshake_seconds=0.01)
        with theirs:
            theirs.settimeout(60)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: stream, ours)
            theirs.sendall(said)
            await asyncio.wait_for(stream.handshake, 60)
            while await asyncio.to_thread(theirs.recv, 1_000):
                pass
            assert stream.is_closing()

    run_in_loop(run())


def _unexpected(_: TlsTransport) -> None:
    raise AssertionError("the handshake was not finished")


def test_aborted_connection_holds_nothing_any_more(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        async with connected(contexts) as (app, _):
            app.transport.write(LARGE)
            app.transport.abort()
            await asyncio.wait_for(app.lost.wait(), 60)
            app.transport.write(b"nobody is there")
            assert app.transport.get_write_buffer_size() == 0

    run_in_loop(run())


def test_handshake_is_computed_on_its_thread_and_what_comes_with_its_end_is_not_lost(contexts: Any, run_in_loop: Any) -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.settimeout(60)
        app, thread, is_free = App(), Thread("handshakes"), threading.Event()
        thread.begin(is_free.wait)
        stream = TlsTransport(contexts[0], app.enter, handshake_thread=thread, handshake_seconds=60)
        await asyncio.get_running_loop().connect_accepted_socket(lambda: stream, ours)
        asking = asyncio.get_running_loop().run_in_executor(None, _shake_hands_and_say, contexts[1], theirs, LARGE)
        await asyncio.wait([asyncio.ensure_future(stream.handshake)], timeout=0.1)
        assert not stream.handshake.done()
        is_free.set()
        await stream.handshake
        await app.until(lambda: len(app.received) == len(LARGE))
        assert app.received == LARGE
        (await asking).close()
        await asyncio.wait_for(app.lost.wait(), 60)
        thread.close()

    run_in_loop(run())


def _shake_hands_and_say(context: ssl.SSLContext, line: socket.socket, said: bytes) -> ssl.SSLSocket:
    client = context.wrap_socket(line, server_hostname="localhost")
    client.sendall(said)
    return client


def test_connection_that_is_aborted_or_lost_during_a_step_of_its_handshake_ends(contexts: Any, run_in_loop: Any) -> None:
    async def run(*, is_lost: bool) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        thread, is_free = Thread("handshakes"), threading.Event()
        thread.begin(is_free.wait)
        stream = TlsTransport(contexts[0], _unexpected, handshake_thread=thread, handshake_seconds=60)
        await asyncio.get_running_loop().connect_accepted_socket(lambda: stream, ours)
        hello = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            contexts[1].wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
        theirs.sendall(hello.read())
        await asyncio.sleep(0.05)
        if is_lost:
            theirs.close()
        stream.abort()
        await asyncio.wait_for(stream.handshake, 60)
        is_free.set()
        await thread.run(lambda: None)
        await asyncio.sleep(0)
        theirs.close()
        thread.close()

    run_in_loop(run(is_lost=False))
    run_in_loop(run(is_lost=True))
