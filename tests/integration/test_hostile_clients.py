"""Hostile clients: others are served meanwhile, their resources are bounded and released, and the log stays quiet.

How fast others are answered is measured by `make bench-hostile`.
"""

from __future__ import annotations

import contextlib
import gzip
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from probate.http import acceptor, memory_limits, protocol
from support.attacked_server import (
    MAPS,
    AttackedServer,
    open_connections,
    read_to_end,
    readable_connections,
    run_attacked_server,
    status_codes,
    wait_until,
)

GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
POST = b"POST " + MAPS.encode() + b"?dryRun=All HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
BODY = b'{"metadata":{"name":"x"}}'
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with run_attacked_server(tmp_path_factory.mktemp("secured")) as target:
        yield target


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with run_attacked_server(tmp_path_factory.mktemp("plain"), "--insecure") as target:
        yield target


@pytest.fixture(scope="module", params=["plain", "secured"])
def target(request: pytest.FixtureRequest) -> AttackedServer:
    """A server with plain HTTP and one with TLS: both have the same limits."""
    found: AttackedServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module", params=[("--insecure",), ()], ids=["plain", "secured"])
def patient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """A server whose client timeouts are longer than any test."""
    with run_attacked_server(tmp_path_factory.mktemp("patient"), *request.param, "--patience", "10m") as target:
        yield target


def fewer(target: AttackedServer, number: int) -> int:
    """Returns this number of connections, or fewer with TLS, whose handshake takes both sides more than a millisecond."""
    return number // 8 if target.uses_tls else number


def check_given_back(target: AttackedServer, before: int) -> None:
    """Asserts that no descriptors leak, except those of well-behaved connections."""
    wait_until(lambda: target.descriptors <= before + 10, "closing all connections")


@pytest.mark.parametrize("number", [3 * acceptor.MAX_HANDSHAKES])
def test_unfinished_handshakes_block_no_others_and_time_out(secured: AttackedServer, number: int) -> None:
    before, memory = secured.descriptors, secured.megabytes
    with open_connections(number, secured.connect_tcp):
        secured.check_other_clients()
        assert secured.descriptors <= before + acceptor.MAX_HANDSHAKES + 200
        assert secured.megabytes - memory < 200
        check_given_back(secured, before)  # while the clients are still there


HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
NOISE = {
    "plain": GET + b"\r\n",
    "noise": bytes(range(256)) * 20,
    "zeros": bytes(20_000),
    "truncated": HELLO,
    "huge": b"\x16\x03\x01\x40\x00\x01\xff\xff\xff\x03\x03" + bytes(20_000),
    "fragments": b"\x16\x03\x01\x00\x01\x01" * 5_000,
    "ssl2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40),
    "alert": b"\x15\x03\x01\x00\x02\x01\x00" * 1_000,
    "heartbeat": b"\x18\x03\x02\x00\x03\x01\x40\x00",
}


@pytest.mark.parametrize("name", NOISE)
def test_non_tls_bytes_close_the_connection(secured: AttackedServer, name: str) -> None:
    before = secured.descriptors
    with open_connections(20, secured.connect_tcp, NOISE[name]) as lines:
        for line in lines:
            assert status_codes(read_to_end(line)) == []
        secured.check_other_clients()
    check_given_back(secured, before)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1], ids=["1.0", "1.1"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_tls_versions_are_rejected(secured: AttackedServer, version: ssl.TLSVersion) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with secured.connect_tcp() as line, pytest.raises((ssl.SSLError, OSError)):
        context.wrap_socket(line)


ODD_REQUESTS = {
    "both": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "both, turned": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "two lengths": POST + b"Content-Length: 25\r\nContent-Length: 0\r\n\r\n" + BODY + SMUGGLED,
    "list of lengths": POST + b"Content-Length: 25, 25\r\n\r\n" + BODY,
    "signed length": POST + b"Content-Length: +25\r\n\r\n" + BODY,
    "negative length": POST + b"Content-Length: -1\r\n\r\n" + BODY,
    "hexadecimal length": POST + b"Content-Length: 0x19\r\n\r\n" + BODY,
    "space before colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "xchunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "chunked, identity": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "gzip, chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "identity": POST + b"Transfer-Encoding: identity\r\n\r\n" + SMUGGLED,
    "two encodings": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "folded": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "folded other": GET + b"A: b\r\n c: d\r\n\r\n",
    "bare line feeds": b"GET /livez HTTP/1.1\nHost: x\n\n",
    "bare returns": b"GET /livez HTTP/1.1\rHost: x\r\r",
    "bare line feed in chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n0\n\n" + SMUGGLED,
    "nul in value": GET + b"A: b\x00c\r\n\r\n",
    "nul in name": GET + b"A\x00: b\r\n\r\n",
    "no name": GET + b": b\r\n\r\n",
    "no colon": GET + b"foo\r\n\r\n",
    "0.9": b"GET /livez\r\n\r\n",
    "2.0": b"GET /livez HTTP/2.0\r\nHost: x\r\n\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "lower case": b"get /livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "other method": b"BREW /livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "connect": b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no host": b"GET /livez HTTP/1.1\r\n\r\n",
    "two hosts": GET + b"Host: y\r\n\r\n",
    "space in path": b"GET /li vez HTTP/1.1\r\nHost: x\r\n\r\n",
    "tabs": b"GET\t/livez\tHTTP/1.1\r\nHost: x\r\n\r\n",
    "endless chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n" + BODY,
    "negative chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + BODY,
    "1.0 in chunks": b"POST /api HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "bad address": b"GET http://[::1/livez HTTP/1.1\r\nHost: x\r\n\r\n",
}


def test_ambiguous_requests_are_rejected_and_end_the_connection(target: AttackedServer) -> None:
    with contextlib.ExitStack() as held:  # at once, since each is listened to for a while after its refusal
        lines = {}
        for name, request in ODD_REQUESTS.items():
            lines[name] = held.enter_context(target.connect(as_admin=True))
            lines[name].sendall(request)
        said = {name: read_to_end(line) for name, line in lines.items()}
    assert {name: status_codes(one) for name, one in said.items()} == {name: [400] for name in said}
    assert not any(b"smuggled" in one for one in said.values())


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"TRACE /livez HTTP/1.1\r\nHost: x\r\nCookie: secret\r\n\r\n", 405),
        (b"GET http://elsewhere/livez HTTP/1.1\r\nHost: x\r\n\r\n", 200),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (POST + b"Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" + BODY, 415),
        (GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", 200),
    ],
    ids=["trace", "absolute", "options", "gzip", "h2c"],
)
def test_request_smuggling_has_no_effect(target: AttackedServer, request_: bytes, expected: int) -> None:
    with target.connect(as_admin=True) as line:
        line.sendall(request_.replace(b"Host: x\r\n", b"Host: x\r\nConnection: close\r\n") if expected != 200 else request_)
        said = line.recv(65_536)
    assert status_codes(said)[:1] == [expected]
    assert b"secret" not in said


def test_ten_thousand_idle_connections_block_no_others(patient: AttackedServer) -> None:
    before, memory = patient.descriptors, patient.megabytes
    number = fewer(patient, 10_000)
    with open_connections(number, patient.connect):
        wait_until(lambda: patient.descriptors >= before + number - 10, "letting all of them in")
        patient.check_other_clients()
        assert patient.megabytes - memory < 400
    check_given_back(patient, before)


def test_silent_connections_time_out(target: AttackedServer) -> None:
    before = target.descriptors
    with open_connections(fewer(target, 500), target.connect) as lines:
        assert {read_to_end(line) for line in lines} == {b""}
        check_given_back(target, before)


@pytest.mark.parametrize("options", [("--insecure",), ()], ids=["plain", "secured"])
def test_longest_idle_connections_are_closed_at_the_limit(tmp_path: Path, options: tuple[str, ...]) -> None:
    with (
        run_attacked_server(
            tmp_path, *options, "--patience", "30s", "--max-connections", "150", descriptors=acceptor.RESERVED_DESCRIPTORS + 150
        ) as target,
        contextlib.ExitStack() as held,
    ):
        lines = []
        for _ in range(400):
            line = held.enter_context(target.connect())
            line.sendall(GET + b"\r\n")
            assert status_codes(line.recv(1_000)) == [200]
            lines.append(line)
        for line, is_cut in ((lines[0], True), (lines[-1], False)):
            with contextlib.suppress(ConnectionError):
                line.sendall(GET + b"\r\n")
                assert status_codes(line.recv(1_000)) == ([] if is_cut else [200])
        target.check_other_clients()
        assert target.descriptors <= acceptor.RESERVED_DESCRIPTORS + 150


def test_slow_headers_block_no_others_and_get_408(target: AttackedServer) -> None:
    before = target.descriptors
    with open_connections(fewer(target, 2_000), target.connect, GET + b"A: ") as lines:
        target.check_other_clients()
        assert {tuple(status_codes(read_to_end(line))) for line in lines} <= {(408,), ()}
    check_given_back(target, before)


@pytest.mark.parametrize(
    ("number", "say", "limit"),
    [
        (3 * memory_limits.MAX_HEADERS_MEMORY // MIB, GET + b"A: " + b"a" * 900_000, memory_limits.MAX_HEADERS_MEMORY),
        (150, POST + b"Content-Length: 3000000\r\n\r\n" + b"a" * 2_900_000, memory_limits.MAX_BODIES_MEMORY),
    ],
    ids=["heads", "bodies"],
)
def test_large_headers_and_bodies_are_bounded_together(patient: AttackedServer, number: int, say: bytes, limit: int) -> None:
    before, memory = patient.descriptors, patient.megabytes
    with open_connections(number, lambda: patient.connect(as_admin=True), say) as lines:
        wait_until(lambda: bool(readable_connections(lines)), "refusing some")
        patient.check_other_clients()
        assert patient.megabytes - memory < 2 * limit / MIB + 100
        assert {code for line in readable_connections(lines) for code in status_codes(line.recv(10_000))} == {429}
    check_given_back(patient, before)


def test_endless_body_is_rejected(target: AttackedServer) -> None:
    with target.connect(as_admin=True) as line:
        line.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(200):
                line.sendall(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
        assert status_codes(read_to_end(line)) in ([413], [])
    target.check_other_clients()


def test_client_that_never_sends_its_body_after_100_continue_times_out(target: AttackedServer) -> None:
    with open_connections(
        fewer(target, 500), lambda: target.connect(as_admin=True), POST + b"Content-Length: 25\r\nExpect: 100-continue\r\n\r\n"
    ) as lines:
        target.check_other_clients()
        assert {tuple(status_codes(read_to_end(line))) for line in lines} == {(100, 408)}


def test_pipelined_requests_are_answered_in_order_up_to_a_limit(target: AttackedServer) -> None:
    with target.connect() as line:
        line.sendall((GET + b"\r\n") * (protocol.MAX_PIPELINED - 1) + GET + b"Connection: close\r\n\r\n")
        assert status_codes(read_to_end(line)) == [200] * protocol.MAX_PIPELINED


def test_flood_of_pipelined_requests_closes_the_connection_and_is_not_buffered(target: AttackedServer) -> None:
    memory = target.megabytes
    with open_connections(50, target.connect) as lines:
        for line in lines:
            with contextlib.suppress(OSError):
                line.sendall((GET + b"\r\n") * 20_000)
        target.check_other_clients()
        assert target.megabytes - memory < 100
        for line in lines:
            assert len(status_codes(read_to_end(line))) < 20_000


ALIASES = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%b]\n" % (letter, letter, b",".join([b"*%c" % (letter - 1)] * 9)) for letter in range(98, 112)
)
BOMBS = {
    "aliases": ("application/yaml", ALIASES),
    "deep yaml": ("application/yaml", b"[" * 200_000),
    "deep json": ("application/json", b'{"metadata":' * 200_000),
    "deep list": ("application/json", b"[" * 1_000_000),
    "many keys": ("application/json", b"{" + b",".join(b'"k%d":{}' % number for number in range(220_000)) + b"}"),
    "protobuf": ("application/vnd.kubernetes.protobuf", b"k8s\x00" + b"\x12\xff\xff\xff\x7f" * 100_000),
    "numbers": ("application/json", b'{"metadata":{"name":"x"},"data":{"a":' + b"9" * 1_000_000 + b"}}"),
    "gzip": ("application/json", gzip.compress(b" " * 50_000_000)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_expanding_body_is_rejected_cheaply(patient: AttackedServer, name: str) -> None:
    media, body = BOMBS[name]
    memory = patient.megabytes
    headers = {"content-type": media} | ({"content-encoding": "gzip"} if name == "gzip" else {})
    for _ in range(3):
        answer = patient.client.post(MAPS, content=body, headers=headers)
        assert answer.status_code in {400, 413, 415, 422}, answer.text[:300]
        assert answer.json()["kind"] == "Status"
    patient.check_other_clients()
    assert patient.megabytes - memory < 250


QUERIES = {
    "labels": ("labelSelector", ",".join(f"k{number}=v" for number in range(5_000))),
    "values": ("labelSelector", f"a in ({','.join(f'v{number}' for number in range(9_000))})"),
    "fields": ("fieldSelector", ",".join("metadata.name!=x" for _ in range(3_000))),
    "parentheses": ("labelSelector", "a in " + "(" * 30_000),
    "commas": ("labelSelector", "," * 60_000),
    "continue": ("continue", "A" * 60_000),
}


@pytest.mark.parametrize("name", QUERIES)
def test_huge_selector_or_token_is_answered_soon(target: AttackedServer, name: str) -> None:
    key, value = QUERIES[name]
    with open_connections(20, lambda: target.connect(as_admin=True)) as lines:
        for line in lines:
            query = value.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
            line.sendall(
                b"GET %b?%b=%b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (MAPS.encode(), key.encode(), query.encode())
            )
        target.check_other_clients()
        assert {code for line in lines for code in status_codes(read_to_end(line))} <= {200, 400, 414}


def test_flood_of_wrong_credentials_is_delayed_and_blocks_no_others(secured: AttackedServer) -> None:
    with open_connections(40, secured.connect) as lines:
        for number, line in enumerate(lines):
            line.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer guess%d\r\n\r\n" % number)
        secured.check_other_clients()
        assert {status_codes(line.recv(10_000))[0] for line in lines} == {401, 429}
    secured.check_other_clients()
