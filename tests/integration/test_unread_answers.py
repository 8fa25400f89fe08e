"""Clients that do not read their responses, with plain HTTP and TLS: buffered memory is bounded and released.

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
from support.attacked_server import (
    TIMEOUT_SECONDS,
    AttackedServer,
    open_connections,
    read_to_end,
    readable_connections,
    run_attacked_server,
    status_codes,
    wait_until,
)

MIB = 1024 * 1024
LISTED = "/api/v1/namespaces/large/configmaps"
LIST = b"GET " + LISTED.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_LIST = LIST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
OPENAPI = b"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\n\r\n"
OBJECTS = 20


def fill(target: AttackedServer) -> None:
    """Creates a namespace whose list is about 20 MB."""
    target.client.post("/api/v1/namespaces", json={"metadata": {"name": "large"}})
    for number in range(OBJECTS):
        body = {"metadata": {"name": f"x{number}"}, "data": {"a": "a" * MIB}}
        assert target.client.post(LISTED, json=body).status_code == 201
    assert len(target.client.get(LISTED).json()["items"]) == OBJECTS  # so that what it keeps of it counts as there before


@pytest.fixture(scope="module", params=[("--insecure",), ()], ids=["plain", "secured"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with run_attacked_server(tmp_path_factory.mktemp("target"), *request.param, "--patience", "3s") as started:
        fill(started)
        yield started


def check_given_back(target: AttackedServer, descriptors: int, megabytes: float) -> None:
    """Asserts that no descriptors and little memory leak."""
    wait_until(lambda: target.descriptors <= descriptors + 10, "closing all connections")
    wait_until(lambda: target.megabytes <= 1.2 * megabytes + 30, "giving back the memory")


def test_answers_that_clients_drop_leave_nothing_behind(target: AttackedServer) -> None:
    before, memory = target.descriptors, target.megabytes
    for _ in range(120):
        with target.connect(as_admin=True) as line:
            line.sendall(OPENAPI)
            assert status_codes(line.recv(100)) == [200]
    check_given_back(target, before, memory)


def test_kept_connection_releases_the_memory_of_its_largest_response(target: AttackedServer) -> None:
    memory = target.megabytes
    with contextlib.ExitStack() as held:
        for _ in range(8):
            line = held.enter_context(target.connect(as_admin=True))
            line.sendall(LIST)
            head, _, body = read_until(line, b"\r\n\r\n").partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            read_exactly(line, length - len(body))
        wait_until(lambda: target.megabytes <= 1.2 * memory + 30, "giving back the memory")


@pytest.mark.parametrize(
    "said",
    [LIST * 30, LIST.replace(b" HTTP", b"?watch=1 HTTP", 1), OPENAPI * 40],
    ids=["lists", "watches", "documents"],
)
def test_answers_that_nobody_reads_are_bounded_together_and_given_back(target: AttackedServer, said: bytes) -> None:
    before, memory = target.descriptors, target.megabytes
    with open_connections(24, target.connect_slow_reader, said):
        target.check_other_clients()
        assert target.megabytes - memory < 2.5 * memory_limits.MAX_UNREAD_MEMORY / MIB
        check_given_back(target, before, memory)  # while the clients are still there


def test_different_unread_lists_are_bounded_together(target: AttackedServer) -> None:
    """Pipelined requests are not answered before the first response is read, because each response would be buffered."""
    before, memory = target.descriptors, target.megabytes
    asked = [LIST.replace(b" HTTP", b"?labelSelector=a%%21%%3D%d HTTP" % number, 1) for number in range(3)]
    with open_connections(10, target.connect_slow_reader, b"".join(asked)) as lines:
        wait_until(lambda: len(readable_connections(lines)) == len(lines), "answering")
        target.check_other_clients()
        assert target.megabytes - memory < 1.5 * memory_limits.MAX_UNREAD_MEMORY / MIB
    check_given_back(target, before, memory)


def test_client_that_reads_slowly_gets_all_of_the_last_answer(target: AttackedServer) -> None:
    """A connection with `Connection: close` is closed after the response, however long the client takes to read it."""
    with target.connect(as_admin=True) as line:
        line.sendall(LAST_LIST)
        said = line.recv(100_000)
        for _ in range(40):
            time.sleep(0.05)  # what it is about: reading takes the client two seconds
            said += line.recv(65_536)
        said += read_to_end(line)
    assert len(json.loads(said.partition(b"\r\n\r\n")[2])["items"]) == OBJECTS


def test_unread_half_closed_connection_times_out(target: AttackedServer) -> None:
    before, memory = target.descriptors, target.megabytes
    with (
        open_connections(4, target.connect_slow_reader, LIST) as lines,
        open_connections(4, target.connect_slow_reader, LAST_LIST) as more,
    ):
        for line in lines + more:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_WR)
        target.check_other_clients()
        check_given_back(target, before, memory)


def test_closing_connection_with_few_unread_bytes_times_out(target: AttackedServer) -> None:
    """Even if too few bytes remain to count, the connection must not stay open forever."""
    made = target.client.put(f"{LISTED}/x0", json={"metadata": {"name": "x0"}, "data": {"a": "a" * 40_000}})
    assert made.status_code == 200
    ask = b"GET " + LISTED.encode() + b"/x0 HTTP/1.1\r\nHost: x\r\n"
    before = target.descriptors
    with contextlib.ExitStack() as held:
        for number in range(2, 50):  # with one of these numbers the system takes almost all, but not all
            line = held.enter_context(target.connect_slow_reader())
            line.sendall((ask + b"\r\n") * number + ask + b"Connection: close\r\n\r\n")
        wait_until(lambda: target.descriptors <= before + 10, "closing all connections")


def read_until(line: socket.socket, end: bytes) -> bytes:
    said = b""
    while end not in said:
        part = line.recv(65_536)
        assert part, "the server ended the connection"
        said += part
    return said


def read_exactly(line: socket.socket, size: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while size > 0:
        part = line.recv(min(size, 65_536))
        assert part, "the server ended the connection"
        assert time.monotonic() < deadline
        size -= len(part)
