"""Parses the address of an etcd store.

    etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/probate?ca=/etc/ca.pem&cert=/etc/me.pem&key=/etc/me.key

It names one or more members, with a default port of 2379; the root under which all keys are stored (default `probate`), so that
several stores can share one etcd; and files for TLS. `ca` encrypts the connection; `cert` and `key` authenticate the server to
etcd. A mistake in an address raises a `CannotOpen` that says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from probate.core import errors

DEFAULT_PORT = 2379
DEFAULT_ROOT = "probate"
EXAMPLE = "etcd://127.0.0.1:2379/probate"

_ENDPOINT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ROOT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_FILES = ("ca", "cert", "key")


class TlsFiles(NamedTuple):
    """The files for an encrypted connection."""

    ca: Path
    cert: Path | None = None
    key: Path | None = None


class EtcdAddress(NamedTuple):
    """The members, root and TLS files of an etcd store."""

    endpoints: tuple[str, ...]
    root: str = DEFAULT_ROOT
    tls: TlsFiles | None = None

    def __str__(self) -> str:
        return f"etcd://{','.join(self.endpoints)}/{self.root}"


def parse(text: str) -> EtcdAddress:
    """Returns the address in this text. Raises `CannotOpen` if it is invalid."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise _bad(text, str(error)) from error
    if parts.scheme != "etcd":
        raise _bad(text, "it does not begin with etcd://")
    if parts.fragment:
        raise _bad(text, "it has a '#'")
    return EtcdAddress(_endpoints(text, parts.netloc), _root(text, parts.path), _tls(text, parts))


def _endpoints(text: str, members: str) -> tuple[str, ...]:
    endpoints = tuple(_endpoint(text, member) for member in members.split(","))
    if len(set(endpoints)) != len(endpoints):
        raise _bad(text, "it names a member twice")
    return endpoints


def _endpoint(text: str, member: str) -> str:
    match = _ENDPOINT.fullmatch(member)
    if match is None:
        raise _bad(text, f"{member!r} is not HOST:PORT" if member else "a member's HOST:PORT is missing")
    port = int(match["port"] or DEFAULT_PORT)
    if not 0 < port < 65536:
        raise _bad(text, f"{port} is not a port")
    return f"{match['host']}:{port}"


def _root(text: str, path: str) -> str:
    root = path.strip("/") or DEFAULT_ROOT
    if _ROOT.fullmatch(root) is None:
        raise _bad(text, f"the root {root!r} must be one name of letters, digits, '-', '_' and '.'")
    return root


def _tls(text: str, parts: SplitResult) -> TlsFiles | None:
    options = _options(text, parse_qsl(parts.query, keep_blank_values=True))
    if not options:
        return None
    if "ca" not in options:
        raise _bad(text, "cert and key need ca, the file with the authority that signed etcd's certificate")
    if ("cert" in options) != ("key" in options):
        raise _bad(text, "cert and key must be given together")
    return TlsFiles(**options)


def _options(text: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Path]:
    options: dict[str, Path] = {}
    for name, value in pairs:
        if name not in _FILES:
            raise _bad(text, f"the option {name!r} is unknown; the options are {', '.join(_FILES)}")
        if not value or name in options:
            raise _bad(text, f"option {name!r} must be given once, with the name of a file")
        options[name] = Path(value)
    return options


def _bad(text: str, reason: str) -> errors.CannotOpen:
    return errors.CannotOpen(f"{text!r} is not the address of an etcd store: {reason}. An address looks like {EXAMPLE}")
