"""Requests that are not parsed because their headers came before: they must be read as the parser would read them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState

from probate.http import connection as http_connection
from probate.http import header_cache
from probate.http.connection import Connection
from probate.http.header_cache import Heads

PLAIN = b"host: x\r\naccept: application/json\r\n\r\n"
WITH_BODY = b"Host: x\r\ncontent-length: 4\r\n\r\n"


class Deaf(Heads):
    """Leaves everything to the parser."""

    def read(self, data: bytes) -> None:
        return None


class Wire(asyncio.Transport):
    """Keeps what is written to it: pieces arrive just as they are given."""

    def __init__(self) -> None:
        super().__init__({})
        self.written: list[bytes] = []
        self._is_closing = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return 0

    def write_eof(self) -> None:
        pass

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self._is_closing = True

    abort = close

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def heard(known: Heads, pieces: list[bytes]) -> list[tuple[Any, ...]]:
    """What an app is asked on a connection by which these pieces come, one after the other, and what is answered."""
    asked: list[tuple[Any, ...]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = scope["exchange"].whole_body()
        told = ("method", "path", "raw_path", "query_string", "headers", "http_version")
        asked.append((*(scope[name] for name in told), body, scope["exchange"].keep_alive))
        scope["exchange"].answer(200, b"content-length: 0\r\n", b"")

    transport = Wire()
    given: Any = {"config": uvicorn.Config(app), "server_state": ServerState(), "app_state": {}}
    connection = Connection(60, **given)
    connection.connection_made(transport)
    try:
        http_connection.KNOWN, before = known, http_connection.KNOWN
        for piece in pieces:
            connection.data_received(piece)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    finally:
        http_connection.KNOWN = before
        connection.connection_lost(None)
    return [*asked, *((written,) for written in transport.written)]


async def test_request_with_headers_that_came_before_is_not_parsed() -> None:
    known = Heads()
    other = b"DELETE /b?c=d HTTP/1.1\r\n" + PLAIN
    assert known.read(other) is None
    await heard(known, [b"GET /a HTTP/1.1\r\n" + PLAIN])
    second = known.read(other)
    assert second is not None
    method, path, query, _, body = second
    assert (method, path, query, body) == (b"DELETE", b"/b", b"c=d", b"")


@pytest.mark.parametrize(
    "spoilt",
    [
        b"POST /a HTTP/1.1\r\n" + WITH_BODY + b"123",  # the rest comes later
        b"POST /a HTTP/1.1\r\n" + WITH_BODY + b"12345",
        b"POST /a HTTP/1.1\r\n" + WITH_BODY + b"1234" + b"GET /b HTTP/1.1\r\n" + PLAIN,
        b"POST /a HTTP/1.0\r\n" + WITH_BODY + b"1234",
        b"POST  /a HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"POST a HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"POST http://x/a HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"POST /a#b HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"POST /%61 HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"HEAD /a HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"\r\nPOST /a HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"POST /" + b"a" * 2_000 + b" HTTP/1.1\r\n" + WITH_BODY + b"1234",
        b"GET /a HTTP/1.1\r\n\r\n",
        b"POST /a HTTP/1.1\r\n",
    ],
)
def test_what_leaves_a_doubt_is_for_the_parser(spoilt: bytes) -> None:
    known = Heads()
    whole = b"POST /a HTTP/1.1\r\n" + WITH_BODY + b"1234"
    known.remember(whole, [(b"host", b"x"), (b"content-length", b"4")])
    assert known.read(whole) is not None
    assert known.read(spoilt) is None


@pytest.mark.parametrize(
    "doubtful",
    [
        b"transfer-encoding: chunked",
        b"connection: close",
        b"Connection: Upgrade, keep-alive",
        b"upgrade: websocket",
        b"expect: 100-continue",
        b"content-encoding: gzip",
        b"Host: y",
        b"Impersonate-User: somebody",
        b"impersonate-group: some",
        b"x: " + b"y" * header_cache.MAX_BYTES,
    ],
)
def test_headers_that_say_more_than_plain_ones_are_not_remembered(doubtful: bytes) -> None:
    known, name, value = Heads(), *doubtful.split(b": ")
    data = b"GET /a HTTP/1.1\r\nhost: x\r\n" + doubtful + b"\r\n\r\n"
    known.remember(data, [(b"host", b"x"), (name.lower(), value)])
    assert known.read(data) is None


@pytest.mark.parametrize("last", [b"connection: close\r\nconnection: keep-alive", b"proxy-connection: close"])
async def test_headers_after_which_the_connection_ends_are_not_remembered(last: bytes) -> None:
    """What ends a connection is for the parser to say: it knows of more than the last header of that name."""
    known = Heads()
    asked = b"GET /a HTTP/1.1\r\nhost: x\r\n" + last + b"\r\n\r\n"
    await heard(known, [asked])
    assert known.read(asked) is None


def test_no_more_heads_are_remembered_than_there_is_room_for() -> None:
    known = Heads()
    for number in range(3 * header_cache.MAX_KNOWN):
        known.remember(b"GET / HTTP/1.1\r\nhost: %d\r\n\r\n" % number, [(b"host", b"%d" % number)])
        assert len(known._known) <= header_cache.MAX_KNOWN


lines = st.sampled_from(
    [
        b"GET /a HTTP/1.1",
        b"POST /b?c=%20d HTTP/1.1",
        b"PUT /b/c HTTP/1.1",
        b"GET /a HTTP/1.0",
        b"GET /%61 HTTP/1.1",
        b"PRI * HTTP/2.0",
    ]
)
bodies = st.sampled_from([b"", b"{}", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"1234"])
some_headers = st.lists(
    st.sampled_from(
        [
            b"Host: x",
            b"host: y",
            b"accept: */*",
            b"connection: keep-alive",
            b"connection: close",
            b"proxy-connection: close",
            b"expect: 100-continue",
            b"transfer-encoding: chunked",
            b"content-length: 2",
            b"content-length: 4",
            b"x-a:  spaces  ",
            b"x-a: \xc3\xa4",
        ]
    ),
    max_size=4,
)
requests = st.builds(lambda line, many, body: b"\r\n".join([line, *many, b"", b""]) + body, lines, some_headers, bodies)
flows = st.lists(
    st.one_of(requests, st.lists(requests, max_size=2).map(b"".join), st.binary(max_size=3), st.just(b"\r\n")), max_size=5
)


@given(flows)
async def test_whatever_comes_is_read_as_the_parser_reads_it(pieces: list[bytes]) -> None:
    twice = [*pieces, *pieces]  # so that some of it came before
    assert await heard(Heads(), twice) == await heard(Deaf(), twice)
