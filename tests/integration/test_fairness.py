"""One user, one address or a slow issuer blocks no others: no health check, no administrator, no valid token."""

from __future__ import annotations

import hashlib
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from probate.http import acceptor
from probate.server.authn.failure_limit import BURST, MAX_RETRY_AFTER_SECONDS
from support.attacked_server import (
    MAPS,
    TIMEOUT_SECONDS,
    AttackedServer,
    open_connections,
    readable_connections,
    run_attacked_server,
    status_codes,
    wait_until,
)
from support.oidc_issuer import IssuerKey, run_issuer

CONNECTIONS = 100
WATCH = f"{MAPS}?watch=1"
FORGED = 450
PEOPLE = ("ann", "bob")
WRONG = ("Basic {}", "Bearer wrong{}", "Bearer a.b.{}", "{}")


def token_of(name: str) -> str:
    return f"token-of-{name}"


def asked(path: str, authorization: str = "") -> bytes:
    shown = f"Authorization: {authorization}\r\n" if authorization else ""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{shown}\r\n".encode()


def answer_on(line: socket.socket) -> tuple[int, bytes]:
    """Returns the code of the next response, and the bytes received."""
    said = b""
    while b"\r\n\r\n" not in said and (part := line.recv(65_536)):
        said += part
    return status_codes(said)[0], said


def ask(target: AttackedServer, path: str, authorization: str = "", *, known: bool = False) -> int:
    """Returns the code of a response on a new connection."""
    with target.connect(as_admin=known) as line:
        line.sendall(asked(path, authorization))
        return answer_on(line)[0]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tokens."""
    file = tmp_path_factory.mktemp("people") / "tokens.csv"
    file.write_text("".join(f"{hashlib.sha256(token_of(name).encode()).hexdigest()},{name},,staff\n" for name in PEOPLE))
    return file


@pytest.fixture
def small(tmp_path: Path, people: Path) -> Iterator[AttackedServer]:
    """A server with few connections. Every user may read."""
    options = ("--token-file", str(people), "--max-connections", str(CONNECTIONS), "--patience", "60s")
    with run_attacked_server(tmp_path, *options, descriptors=acceptor.RESERVED_DESCRIPTORS + CONNECTIONS) as target:
        let_read(target)
        yield target


def let_read(target: AttackedServer) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    body = {"metadata": {"name": "staff"}, "roleRef": role, "subjects": [{"kind": "Group", "name": "staff"}]}
    made = target.client.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json=body)
    assert made.status_code == 201, made.text


def watches(target: AttackedServer, held: ExitStack, name: str, number: int) -> list[int]:
    """Opens this many watches of one user, each on its own connection, which stays open. Returns the response codes."""
    told = []
    for _ in range(number):
        line = held.enter_context(target.connect())
        line.sendall(asked(WATCH, f"Bearer {token_of(name)}"))
        told.append(answer_on(line)[0])
    return told


def test_watches_of_one_user_took_all_connections(small: AttackedServer) -> None:
    with ExitStack() as held:
        told = watches(small, held, "ann", CONNECTIONS + 10)
        assert set(told) == {200, 429}
        assert told.count(200) >= CONNECTIONS // 2
        assert ask(small, "/livez") == 200
        assert ask(small, "/api/v1/namespaces", known=True) == 200  # an administrator
        small.check_other_clients()
        assert watches(small, held, "bob", 5) == [200] * 5
        assert ask(small, WATCH, known=True) == 200
        lines = [line for line in small.log.splitlines() if "limit reached" in line and "long-running" in line]
        assert len(lines) == 1
        assert "user=ann" in lines[0]
        counted = re.search(r'probate_limit_reached_total{limit="long-running requests"} (\d+)', small.client.get("/metrics").text)
        assert counted is not None
        assert int(counted[1]) == told.count(429)
        with small.connect() as line:
            line.sendall(asked(WATCH, f"Bearer {token_of('ann')}"))
            code, said = answer_on(line)
        assert (code, b"retry-after: 1\r\n" in said, b'"reason":"TooManyRequests"' in said) == (429, True, True)


def test_slow_bodies_of_one_user_took_all_connections(small: AttackedServer) -> None:
    post = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of('ann')}\r\n"
    post += "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    role = {"metadata": {"name": "writer"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    assert small.client.post(f"{rbac}/clusterroles", json=role).status_code == 201
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"}
    body = {"metadata": {"name": "writer"}, "roleRef": reference, "subjects": [{"kind": "User", "name": "ann"}]}
    assert small.client.post(f"{rbac}/clusterrolebindings", json=body).status_code == 201
    with open_connections(CONNECTIONS + 10, small.connect, post.encode()) as lines:
        wait_until(lambda: bool(readable_connections(lines)), "a refusal")
        assert ask(small, "/readyz") == 200
        small.check_other_clients()
        assert ask(small, "/api/v1/namespaces", f"Bearer {token_of('bob')}") == 200


def forged(issuer: Any, number: int) -> str:
    """A token that cannot be told from a valid one until the issuer's keys are loaded."""
    claims = {"iss": issuer.url, "aud": "probate", "sub": f"eve-{number}", "exp": 4_000_000_000}
    return forger.token(claims, name=f"unknown-{number}")


forger = IssuerKey("forger")


def test_forged_tokens_of_a_slow_issuer_delayed_an_administrator(tmp_path: Path, people: Path) -> None:
    with run_issuer(tmp_path) as issuer:
        issuer.may_answer.clear()
        options: tuple[str, ...] = (
            "--oidc-issuer-url",
            issuer.url,
            "--oidc-client-id",
            "probate",
            "--oidc-ca-file",
            str(issuer.ca_file),
        )
        options += ("--token-file", str(people), "--patience", "60s")
        tokens = [forged(issuer, number) for number in range(FORGED)]
        with run_attacked_server(tmp_path, *options) as target, open_connections(FORGED, target.connect) as lines:
            let_read(target)
            for line, token in zip(lines, tokens, strict=True):
                line.sendall(asked("/api/v1/namespaces", f"Bearer {token}"))
            assert ask(target, "/api/v1/namespaces", known=True) == 200  # an administrator
            assert ask(target, "/livez") == 200
            assert ask(target, "/api/v1/namespaces", f"Bearer {token_of('ann')}") == 200
            target.check_other_clients()
            issuer.may_answer.set()
            assert {answer_on(line)[0] for line in lines} == {401, 429}
            assert target.log.count('limit reached limit="waiting for OpenID Connect keys"') == 1


def test_malformed_credentials_locked_out_valid_tokens_from_the_same_address(tmp_path: Path, people: Path) -> None:
    with run_attacked_server(tmp_path, "--token-file", str(people)) as target:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        assert target.client.post(accounts, json={"metadata": {"name": "robot"}}).status_code == 201
        good = target.client.post(f"{accounts}/robot/token", json={}).json()["status"]["token"]
        told, longest = [], 0
        with open_connections(100, target.connect) as lines:  # each of them is slowed down
            for attempt in range(3):
                for number, line in enumerate(lines, 100 * attempt):
                    line.sendall(asked("/api/v1/namespaces", WRONG[number % len(WRONG)].format(number)))
                for code, said in map(answer_on, lines):
                    told.append(code)
                    waits = re.findall(rb"retry-after: (\d+)", said)
                    assert bool(waits) == (code == 429)
                    longest = max([longest, *map(int, waits)])
        assert longest <= MAX_RETRY_AFTER_SECONDS
        assert ask(target, "/version", f"Bearer {good}") == 200
        assert told.count(401) >= BURST
        assert told.count(429) > 200
        assert target.log.count('limit reached limit="wrong credentials"') == 1


@pytest.mark.parametrize(
    ("allowed", "more", "told"),
    [
        (
            1_000,
            (),
            ("12,000 connections", "12,256 file descriptors", "ulimit -n 12256", "--max-connections to 744 or less"),
        ),
        (4_096, ("--max-connections", "5000"), ("5,000 connections", "ulimit -n 5256", "--max-connections to 3,840 or less")),
        (260, ("--max-connections", "20"), ("20 connections", "276 file descriptors", "too few for any")),
    ],
)
def test_server_did_not_report_a_too_low_descriptor_limit(
    tmp_path: Path, allowed: int, more: tuple[str, ...], told: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "probate", "serve", "--insecure", "--store", "memory:", "--listen", "127.0.0.1:0", *more]

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (250, allowed))

    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, preexec_fn=few, timeout=TIMEOUT_SECONDS, check=False
    )
    assert ended.returncode != 0
    for part in told:
        assert part in ended.stderr, ended.stderr
    assert "Traceback" not in ended.stderr


def test_low_descriptor_limit_lowers_the_default_and_is_logged(tmp_path: Path) -> None:
    with run_attacked_server(tmp_path, descriptors=4_096) as target:
        assert ask(target, "/livez") == 200
        assert "connections=3840" in target.log
