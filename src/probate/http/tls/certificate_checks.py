"""Checks that certificates, keys and CAs match, by an in-memory handshake between a client and a server that use them.

Python's own TLS does it, so that a server that has its certificates starts without loading `cryptography`. Validity dates are not
checked here: the callers have clocks of their own.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from probate.http.tls.server_context import NO_CHECK_TIME

_STEPS = 8
"""Handshake steps of each side, at most."""


def is_key_pair(certificate: Path, key: Path) -> bool:
    """Whether the key is the certificate's, and both can be read."""
    try:
        _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key)
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        return False
    return True


def is_signed_by(authority: Path, certificate: Path, key: Path, *, is_client: bool = False) -> bool:
    """Whether the authority signed this server (or client) certificate, and the key is the certificate's."""
    try:
        server, client = (_context(side, certificate, key) for side in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT))
        verifier = server if is_client else client
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.maximum_version = ssl.TLSVersion.TLSv1_2  # takes half the time of TLS 1.3
        verifier.verify_mode = ssl.CERT_REQUIRED
        verifier.verify_flags |= NO_CHECK_TIME
        verifier.load_verify_locations(authority)
        return _shake_hands(server, client)
    except (OSError, ValueError):
        return False


def _context(side: int, certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.load_cert_chain(
        certificate, key, password=lambda: b""
    )  # an encrypted key is refused; without this, OpenSSL would prompt for its password
    return context


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> bool:
    """Whether the handshake completes. Raises `SSLError` if one side does not trust the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)
    return any(sum(_is_done(side) for side in sides) == len(sides) for _ in range(_STEPS))  # runs both sides alternately


def _is_done(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
