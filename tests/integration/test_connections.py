"""Clients that send too much, too slowly, or not HTTP: each gets a Status if possible, and is disconnected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self

import httpx
import pytest

from probate.http import connection
from support.http_server import SCHEMES, Endpoint, run_endpoint

GET = b"GET /version HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module", params=SCHEMES)
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with run_endpoint(request.param) as reached:
        yield reached


@pytest.fixture(scope="module")
def http(endpoint: Endpoint) -> Iterator[httpx.Client]:
    with endpoint.client() as client:
        yield client


@pytest.fixture(scope="module", params=SCHEMES)
def impatient(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with run_endpoint(request.param, "--patience", "0.3s") as reached:
        yield reached


class Line:
    """A connection to the server, byte by byte."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._socket = endpoint.connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, *parts: bytes) -> None:
        self._socket.sendall(b"".join(parts))

    def until_closed(self) -> bytes:
        """Returns everything that the server sends until it closes the connection."""
        said = b""
        while part := self._socket.recv(100_000):
            said += part
        return said

    def answer(self) -> tuple[int, Any]:
        """Returns the next response on an open connection."""
        said = b""
        while b"\r\n\r\n" not in said:
            said += self._socket.recv(1)
        length = int(said.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = b""
        while len(body) < length:
            body += self._socket.recv(length - len(body))
        return int(said.split()[1]), json.loads(body)


def last_status(said: bytes) -> tuple[int, str]:
    """Returns the code and reason of the last response, which must be a `Status` with `Connection: close`."""
    head, _, body = said.rpartition(b"\r\n\r\n")
    assert b"connection: close" in head
    status = json.loads(body)
    assert (status["kind"], status["code"]) == ("Status", int(head.rpartition(b"HTTP/1.1 ")[2].split()[0]))
    return status["code"], status["reason"]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ([GET, b"A: ", b"a" * connection.MAX_HEADERS_BYTES, b"\r\n\r\n"], (431, "RequestHeaderFieldsTooLarge")),
        ([GET, b"A: a\r\n" * 6_000, b"\r\n"], (431, "RequestHeaderFieldsTooLarge")),
        ([GET, b"A: ", b"a" * 4 * connection.MAX_HEADERS_BYTES], (431, "RequestHeaderFieldsTooLarge")),
        ([GET, b"A" * 4 * connection.MAX_HEADERS_BYTES], (431, "RequestHeaderFieldsTooLarge")),
        ([b"GET /", b"a" * 70_000, b" HTTP/1.1\r\n\r\n"], (414, "RequestURITooLong")),
        ([b"GET /", b"a" * 4 * connection.MAX_HEADERS_BYTES], (414, "RequestURITooLong")),
        ([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"], (400, "BadRequest")),
        ([b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], (400, "BadRequest")),
        ([b"GET /\xff HTTP/1.1\r\n\r\n"], (400, "BadRequest")),
        ([b"CONNECT x:1 HTTP/1.1\r\n\r\n"], (400, "BadRequest")),
        ([b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"], (400, "BadRequest")),
        ([b"POST /version HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], (400, "BadRequest")),
        (
            [b"POST /api/v1/namespaces HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"0" * 2 * connection.MAX_HEADERS_BYTES],
            (400, "BadRequest"),
        ),
        (
            [
                b"POST /api/v1/namespaces HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ",
                b"a" * 3 * connection.MAX_HEADERS_BYTES,
            ],
            (400, "BadRequest"),
        ),
    ],
    ids=[
        "one",
        "many",
        "endless",
        "name",
        "url",
        "endless-url",
        "tls",
        "http2",
        "ascii",
        "connect",
        "length",
        "chunk",
        "zeros",
        "trailer",
    ],
)
def test_oversized_or_malformed_requests_get_a_status(endpoint: Endpoint, request_: list[bytes], expected: tuple[int, str]) -> None:
    with Line(endpoint) as line:
        line.send(*request_)
        assert last_status(line.until_closed()) == expected


def test_headers_within_the_limit_are_accepted(http: httpx.Client) -> None:
    large = {f"a{number}": "a" * 9_000 for number in range(100)}
    assert http.get("/version", headers=large).status_code == 200
    assert http.get("/version", params={"a": "a" * 60_000}).status_code == 200


@pytest.mark.parametrize("part", [b"GET /ver", GET, GET + b"A: a"])
def test_client_that_does_not_finish_its_headers_gets_408_and_is_disconnected(impatient: Endpoint, part: bytes) -> None:
    with Line(impatient) as line:
        line.send(part)
        assert last_status(line.until_closed()) == (408, "Timeout")


def test_silent_client_is_disconnected(impatient: Endpoint) -> None:
    with Line(impatient) as line:
        assert line.until_closed() == b""


def test_second_request_of_a_connection_has_a_timeout_too(impatient: Endpoint) -> None:
    with Line(impatient) as line:
        line.send(GET, b"\r\n")
        assert line.answer()[0] == 200
        line.send(GET)
        assert last_status(line.until_closed()) == (408, "Timeout")


def test_client_that_does_not_finish_its_body_gets_408_and_is_disconnected(impatient: Endpoint) -> None:
    with Line(impatient) as line:
        line.send(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        code, status = line.answer()
        assert (code, status["kind"], status["reason"]) == (408, "Status", "Timeout")
        assert line.until_closed() == b""


def test_client_that_got_its_response_and_does_not_finish_its_body_is_disconnected(impatient: Endpoint) -> None:
    with Line(impatient) as line:
        line.send(b"GET /version HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert line.answer()[0] == 200
        line.send(b"{")
        assert line.until_closed() == b""


def test_connection_stays_open_once_the_body_of_an_answered_request_has_arrived(endpoint: Endpoint) -> None:
    with Line(endpoint) as line:
        line.send(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        assert line.answer()[0] == 405
        line.send(b"0123456789", GET, b"\r\n")
        assert line.answer()[0] == 200


def test_body_over_the_limit_is_rejected_before_it_has_arrived(endpoint: Endpoint) -> None:
    with Line(endpoint) as line:
        line.send(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", b"a" * 1_000_000)
        assert line.answer()[0] == 413


def test_garbage_after_a_request_closes_the_connection_after_the_response(endpoint: Endpoint) -> None:
    with Line(endpoint) as line:
        line.send(GET, b"\r\n", b"garbage\r\n\r\n")
        said = line.until_closed()
        assert said.startswith(b"HTTP/1.1 200")
        assert said.count(b"HTTP/1.1") == 1


def test_upgrade_header_is_ignored(endpoint: Endpoint) -> None:
    with Line(endpoint) as line:
        line.send(GET, b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        said = line.until_closed()
        assert said.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in said
