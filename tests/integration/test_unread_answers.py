"""Clients that do not read their answers, in plain HTTP and over TLS: what is held for them is bounded, and is given back.

The event loop's own TLS layer hides what a client has not read. So each of these runs over both.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator

import pytest

from probate.http import memory_limits
from support.attacked_server import LIMIT, Target, answered, attacked, codes, many, rest_of, until

MIB = 1024 * 1024
LISTED = "/api/v1/namespaces/large/configmaps"
LIST = b"GET " + LISTED.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_LIST = LIST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
OPENAPI = b"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\n\r\n"
OBJECTS = 20


def fill(target: Target) -> None:
    """Make a namespace whose list has about 20 MB."""
    target.honest.post("/api/v1/namespaces", json={"metadata": {"name": "large"}})
    for number in range(OBJECTS):
        body = {"metadata": {"name": f"x{number}"}, "data": {"a": "a" * MIB}}
        assert target.honest.post(LISTED, json=body).status_code == 201
    assert len(target.honest.get(LISTED).json()["items"]) == OBJECTS  # so that what it keeps of it counts as there before


@pytest.fixture(scope="module", params=[("--insecure",), ()], ids=["plain", "secured"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with attacked(tmp_path_factory.mktemp("target"), *request.param, "--patience", "3s") as started:
        fill(started)
        yield started


def check_given_back(target: Target, descriptors: int, megabytes: float) -> None:
    """No descriptor is kept that was not there before, and little memory."""
    until(lambda: target.descriptors <= descriptors + 10, "closing all connections")
    until(lambda: target.megabytes <= 1.2 * megabytes + 30, "giving back the memory")


def test_answers_that_clients_drop_leave_nothing_behind(target: Target) -> None:
    before, memory = target.descriptors, target.megabytes
    for _ in range(120):
        with target.line(known=True) as line:
            line.sendall(OPENAPI)
            assert codes(line.recv(100)) == [200]
    check_given_back(target, before, memory)


def test_kept_connection_does_not_keep_the_memory_of_its_largest_answer(target: Target) -> None:
    memory = target.megabytes
    with contextlib.ExitStack() as held:
        for _ in range(8):
            line = held.enter_context(target.line(known=True))
            line.sendall(LIST)
            head, _, body = read_until(line, b"\r\n\r\n").partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            read_exactly(line, length - len(body))
        until(lambda: target.megabytes <= 1.2 * memory + 30, "giving back the memory")


@pytest.mark.parametrize(
    "said",
    [LIST * 30, LIST.replace(b" HTTP", b"?watch=1 HTTP", 1), OPENAPI * 40],
    ids=["lists", "watches", "documents"],
)
def test_answers_that_nobody_reads_are_bounded_together_and_given_back(target: Target, said: bytes) -> None:
    before, memory = target.descriptors, target.megabytes
    with many(24, target.narrow, said):
        target.check_others()
        assert target.megabytes - memory < 2.5 * memory_limits.MAX_UNREAD / MIB
        check_given_back(target, before, memory)  # while the clients are still there


def test_lists_that_differ_and_that_nobody_reads_are_bounded_together(target: Target) -> None:
    """Requests in a row are not answered before the first answer is read: each answer would be held besides."""
    before, memory = target.descriptors, target.megabytes
    asked = [LIST.replace(b" HTTP", b"?labelSelector=a%%21%%3D%d HTTP" % number, 1) for number in range(3)]
    with many(10, target.narrow, b"".join(asked)) as lines:
        until(lambda: len(answered(lines)) == len(lines), "answering")
        target.check_others()
        assert target.megabytes - memory < 1.5 * memory_limits.MAX_UNREAD / MIB
    check_given_back(target, before, memory)


def test_client_that_reads_slowly_gets_all_of_the_last_answer(target: Target) -> None:
    """A connection that the client wants closed is closed after the answer, however long reading that takes."""
    with target.line(known=True) as line:
        line.sendall(LAST_LIST)
        said = line.recv(100_000)
        for _ in range(40):
            time.sleep(0.05)  # what it is about: reading takes the client two seconds
            said += line.recv(65_536)
        said += rest_of(line)
    assert len(json.loads(said.partition(b"\r\n\r\n")[2])["items"]) == OBJECTS


def test_half_closed_connection_that_is_not_read_comes_to_an_end(target: Target) -> None:
    before, memory = target.descriptors, target.megabytes
    with many(4, target.narrow, LIST) as lines, many(4, target.narrow, LAST_LIST) as more:
        for line in lines + more:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_WR)
        target.check_others()
        check_given_back(target, before, memory)


def test_connection_that_ends_with_little_unread_comes_to_an_end(target: Target) -> None:
    """What is left may be too little to count: the connection must still not stay for ever."""
    made = target.honest.put(f"{LISTED}/x0", json={"metadata": {"name": "x0"}, "data": {"a": "a" * 40_000}})
    assert made.status_code == 200
    ask = b"GET " + LISTED.encode() + b"/x0 HTTP/1.1\r\nHost: x\r\n"
    before = target.descriptors
    with contextlib.ExitStack() as held:
        for number in range(2, 50):  # with one of these numbers the system takes almost all, but not all
            line = held.enter_context(target.narrow())
            line.sendall((ask + b"\r\n") * number + ask + b"Connection: close\r\n\r\n")
        until(lambda: target.descriptors <= before + 10, "closing all connections")


def read_until(line: socket.socket, end: bytes) -> bytes:
    said = b""
    while end not in said:
        part = line.recv(65_536)
        assert part, "the server ended the connection"
        said += part
    return said


def read_exactly(line: socket.socket, size: int) -> None:
    deadline = time.monotonic() + LIMIT
    while size > 0:
        part = line.recv(min(size, 65_536))
        assert part, "the server ended the connection"
        assert time.monotonic() < deadline
        size -= len(part)
