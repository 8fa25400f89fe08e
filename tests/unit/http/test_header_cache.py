"""The header cache: requests with cached headers are read exactly as the parser reads them."""

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
from probate.http.header_cache import HeaderCache

PLAIN = b"host: x\r\naccept: application/json\r\n\r\n"
WITH_BODY = b"Host: x\r\ncontent-length: 4\r\n\r\n"


class EmptyCache(HeaderCache):
    """A cache that never has anything: all requests are parsed."""

    def read(self, data: bytes) -> None:
        return None


class RecordingTransport(asyncio.Transport):
    """Records what is written to it, write by write."""

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


async def exchange(cache: HeaderCache, pieces: list[bytes]) -> list[tuple[Any, ...]]:
    """Returns the requests that an app receives on a connection which receives these pieces, and what the connection writes."""
    requests: list[tuple[Any, ...]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = scope["exchange"].complete_body()
        fields = ("method", "path", "raw_path", "query_string", "headers", "http_version")
        requests.append((*(scope[name] for name in fields), body, scope["exchange"].keep_alive))
        scope["exchange"].respond(200, b"content-length: 0\r\n", b"")

    transport = RecordingTransport()
    given: Any = {"config": uvicorn.Config(app), "server_state": ServerState(), "app_state": {}}
    connection = Connection(60, **given)
    connection.connection_made(transport)
    try:
        http_connection.HEADER_CACHE, before = cache, http_connection.HEADER_CACHE
        for piece in pieces:
            connection.data_received(piece)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    finally:
        http_connection.HEADER_CACHE = before
        connection.connection_lost(None)
    return [*requests, *((written,) for written in transport.written)]


async def test_request_with_cached_headers_is_not_parsed() -> None:
    cache = HeaderCache()
    other = b"DELETE /b?c=d HTTP/1.1\r\n" + PLAIN
    assert cache.read(other) is None
    await exchange(cache, [b"GET /a HTTP/1.1\r\n" + PLAIN])
    second = cache.read(other)
    assert second is not None
    method, path, query, _, body = second
    assert (method, path, query, body) == (b"DELETE", b"/b", b"c=d", b"")


@pytest.mark.parametrize(
    "data",
    [
        b"POST /a HTTP/1.1\r\n" + WITH_BODY + b"123",  # incomplete
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
def test_ambiguous_requests_are_parsed(data: bytes) -> None:
    cache = HeaderCache()
    whole = b"POST /a HTTP/1.1\r\n" + WITH_BODY + b"1234"
    cache.add(whole, [(b"host", b"x"), (b"content-length", b"4")])
    assert cache.read(whole) is not None
    assert cache.read(data) is None


@pytest.mark.parametrize(
    "header",
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
def test_headers_with_special_meaning_are_not_cached(header: bytes) -> None:
    cache, name, value = HeaderCache(), *header.split(b": ")
    data = b"GET /a HTTP/1.1\r\nhost: x\r\n" + header + b"\r\n\r\n"
    cache.add(data, [(b"host", b"x"), (name.lower(), value)])
    assert cache.read(data) is None


@pytest.mark.parametrize("last", [b"connection: close\r\nconnection: keep-alive", b"proxy-connection: close"])
async def test_headers_that_close_the_connection_are_not_cached(last: bytes) -> None:
    """Only the parser decides what closes a connection: it considers more than the last header of that name."""
    cache = HeaderCache()
    requests = b"GET /a HTTP/1.1\r\nhost: x\r\n" + last + b"\r\n\r\n"
    await exchange(cache, [requests])
    assert cache.read(requests) is None


def test_cache_does_not_grow_over_its_limit() -> None:
    cache = HeaderCache()
    for number in range(3 * header_cache.MAX_ENTRIES):
        cache.add(b"GET / HTTP/1.1\r\nhost: %d\r\n\r\n" % number, [(b"host", b"%d" % number)])
        assert len(cache._entries) <= header_cache.MAX_ENTRIES


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
header_lists = st.lists(
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
requests = st.builds(lambda line, many, body: b"\r\n".join([line, *many, b"", b""]) + body, lines, header_lists, bodies)
inputs = st.lists(
    st.one_of(requests, st.lists(requests, max_size=2).map(b"".join), st.binary(max_size=3), st.just(b"\r\n")), max_size=5
)


@given(inputs)
async def test_cached_requests_equal_parsed_requests(pieces: list[bytes]) -> None:
    twice = [*pieces, *pieces]  # so that some headers are cached
    assert await exchange(HeaderCache(), twice) == await exchange(EmptyCache(), twice)
