"""Checks that certificates and keys fit each other: by the handshake that a client and a server with them would make, in memory.

Python's own TLS does it, so that a server which has its certificates starts without loading `cryptography`. Dates are not looked
at here: whoever asks has a clock of its own.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from probate.http.tls.server_context import NO_CHECK_TIME

_STEPS = 8
"""Messages that each side sends, at most."""


def fits_key(certificate: Path, key: Path) -> bool:
    """Whether the key is that of the certificate, and both can be read."""
    try:
        _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key)
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        return False
    return True


def is_signed_by(authority: Path, certificate: Path, key: Path, *, is_client: bool = False) -> bool:
    """Whether the authority has signed this certificate of a server, or of a client, whose key this is."""
    try:
        server, client = (_context(side, certificate, key) for side in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT))
        verifier = server if is_client else client
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.maximum_version = ssl.TLSVersion.TLSv1_2  # takes half of the time
        verifier.verify_mode = ssl.CERT_REQUIRED
        verifier.verify_flags |= NO_CHECK_TIME
        verifier.load_verify_locations(authority)
        return _shake_hands(server, client)
    except (OSError, ValueError):
        return False


def _context(side: int, certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.load_cert_chain(certificate, key, password=lambda: b"")  # one with a password is refused, and nobody is asked for it
    return context


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> bool:
    """Whether both sides believe each other. `SSLError` if one does not."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)
    return any(sum(_is_done(side) for side in sides) == len(sides) for _ in range(_STEPS))  # each side gets its turn


def _is_done(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
