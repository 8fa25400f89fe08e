"""Requests and responses as bytes: what HTTP requires of any server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime

import httpx
import pytest

from support.http_server import SCHEMES, Endpoint, run_endpoint

Talk = Callable[..., bytes]

LAST = b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


@pytest.fixture(scope="module", params=SCHEMES)
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with run_endpoint(request.param) as reached:
        yield reached


@pytest.fixture(scope="module")
def http(endpoint: Endpoint) -> Iterator[httpx.Client]:
    with endpoint.client() as client:
        yield client


@pytest.fixture
def talk(endpoint: Endpoint) -> Iterator[Talk]:
    """Sends these bytes and returns everything until the server closes the connection."""
    with endpoint.connect() as connection:

        def send(*parts: bytes) -> bytes:
            for part in parts:
                connection.sendall(part)
            return b"".join(iter(lambda: connection.recv(65536), b""))

        yield send


def test_pipelined_requests_are_answered_in_order(talk: Talk) -> None:
    asked = [b"GET /api/v1/namespaces/%b HTTP/1.1\r\nhost: x\r\n\r\n" % name for name in (b"default", b"nowhere", b"kube-system")]
    answers = talk(b"".join(asked), LAST)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"404", b"200", b"200"]
    assert re.findall(rb'"name":"(default|nowhere|kube-system)"', answers) == [b"default", b"nowhere", b"kube-system"]
    assert b"gitVersion" in answers.rpartition(b"HTTP/1.1")[2]


def test_head_has_the_content_length_of_the_body(talk: Talk, http: httpx.Client) -> None:
    length = len(http.get("/api/v1/namespaces/default").content)
    answers = talk(
        b"HEAD /api/v1/namespaces/default HTTP/1.1\r\nhost: x\r\n\r\n",
        b"HEAD /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    first, _, second = answers.partition(b"\r\n\r\n")
    assert first.endswith(b"\r\ncontent-length: %d" % length)
    assert second.startswith(b"HTTP/1.1 200 OK\r\n")
    assert second.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "request_", [b"GET /version HTTP/1.0\r\n\r\n", b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"]
)
def test_connection_close_is_honoured(talk: Talk, request_: bytes) -> None:
    head = talk(request_).partition(b"\r\n\r\n")[0]
    assert b"\r\nconnection: close" in head


def test_response_has_a_date(http: httpx.Client) -> None:
    assert parsedate_to_datetime(http.get("/version").headers["date"]).year > 2000


def test_expect_100_continue_is_answered(talk: Talk, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps".encode()
    body = b'{"metadata":{"name":"expected"}}'
    head = b"POST %b HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % (
        path,
        len(body),
    )
    answers = talk(head, body)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) in ([b"100", b"201"], [b"201"])


def test_chunked_body_is_reassembled(talk: Talk, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps".encode()
    head = b"POST %b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n" % path
    answers = talk(head, b'b\r\n{"metadata"\r\n', b'12\r\n:{"name":"pieces"}\r\n', b"1\r\n}\r\n", b"0\r\n\r\n")
    assert answers.startswith(b"HTTP/1.1 201")
    assert b'"name":"pieces"' in answers


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (b"/api/v1/namespaces/%64efault", b"200"),
        (b"http://elsewhere/api/v1/namespaces/default?pretty=true", b"200"),
        (b"/api/v1/namespaces/default?pretty=true#part", b"200"),
        (b"http://elsewhere", b"200"),
        (b"http://elsewhere/nowhere", b"404"),
        (b"/api/v1/namespaces?limit=x", b"400"),
    ],
)
def test_request_target_is_parsed_in_every_form(talk: Talk, target: bytes, code: bytes) -> None:
    answer = talk(b"GET %b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % target)
    assert answer[9:12] == code, answer
    assert (b'\n  "kind"' in answer) == (b"pretty" in target)


def test_stream_headers_are_sent_before_the_first_event(endpoint: Endpoint, namespace: str) -> None:
    with endpoint.connect() as connection:
        path = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=1".encode()
        connection.sendall(
            b"GET %b HTTP/1.1\r\nhost: x\r\n\r\nGET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % path
        )
        assert b"transfer-encoding: chunked\r\n\r\n" in connection.recv(65536)
        rest = b"".join(iter(lambda: connection.recv(65536), b""))
    assert rest.startswith(b"0\r\n\r\nHTTP/1.1 200 OK\r\n")
