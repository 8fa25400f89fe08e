from __future__ import annotations

from pathlib import Path

import pytest

from probate.core import errors
from probate.store.etcd.rpc.address import EtcdAddress, TlsFiles, parse


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("etcd://10.0.0.1:2379", EtcdAddress(("10.0.0.1:2379",), "probate")),
        ("etcd://localhost", EtcdAddress(("localhost:2379",), "probate")),
        ("etcd://a:1,b:2,[::1]:3/team-1", EtcdAddress(("a:1", "b:2", "[::1]:3"), "team-1")),
        ("etcd://a/x?ca=/c.pem", EtcdAddress(("a:2379",), "x", TlsFiles(Path("/c.pem")))),
        (
            "etcd://a/?ca=/c.pem&cert=/me.pem&key=/me.key",
            EtcdAddress(("a:2379",), "probate", TlsFiles(Path("/c.pem"), Path("/me.pem"), Path("/me.key"))),
        ),
    ],
)
def test_address_is_parsed(text: str, address: EtcdAddress) -> None:
    assert parse(text) == address


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://a:2379", "begin with etcd://"),
        ("etcd://", "HOST:PORT is missing"),
        ("etcd://a,,b", "HOST:PORT is missing"),
        ("etcd://a:0", "not a port"),
        ("etcd://a:70000", "not a port"),
        ("etcd://a:x", "not HOST:PORT"),
        ("etcd://user@a:1", "not HOST:PORT"),
        ("etcd://a:1,a:1", "twice"),
        ("etcd://a,a:2379", "twice"),
        ("etcd://a/x/y", "one name"),
        ("etcd://a/.engine", "one name"),
        ("etcd://a/x#y", "#"),
        ("etcd://a?tls=on", "the option 'tls' is unknown"),
        ("etcd://a?ca=", "given once"),
        ("etcd://a?ca=/a&ca=/b", "given once"),
        ("etcd://a?cert=/a&key=/b", "need ca"),
        ("etcd://a?ca=/a&key=/b", "must be given together"),
    ],
)
def test_mistake_is_named(text: str, reason: str) -> None:
    with pytest.raises(errors.CannotOpen, match=reason):
        parse(text)
