"""The identity in a client certificate: the common name is the user, each organization a group. (TLS has verified the signatures.)

A certificate is valid while its whole chain is: itself, the certificate that signed it, and so on up to the authority's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from probate.api.rbac.users import AUTHENTICATED, User
from probate.lib.x509 import certificates

MAX_ENTRIES = 500
_DER = 2  # `ENCODING_DER`, which the module `ssl` does not export


class ClientIdentity(NamedTuple):
    """The user that a certificate identifies, and the times between which its chain is valid."""

    user: User
    not_before: float
    not_after: float


_cache: dict[tuple[bytes, ...], ClientIdentity | None] = {}  # by chain: to parse a certificate takes as long as several requests


def client_identity(ssl_object: Any) -> ClientIdentity | None:
    """Returns the identity in a connection's client certificate (`ssl_object`: its `SSLObject`); None without a certificate."""
    if not ssl_object.getpeercert(binary_form=True):
        return None
    chain = _verified_chain(ssl_object)
    if chain not in _cache:
        if len(_cache) >= MAX_ENTRIES:
            _cache.clear()
        _cache[chain] = parse_identity(ssl_object.getpeercert(), chain)
    return _cache[chain]


def is_resumed(ssl_object: Any) -> bool:
    """Whether the client resumes a session in which it presented a certificate.

    OpenSSL caches sessions of TLS 1.2, and Python cannot turn that off. A resumed session does not verify the certificate again.
    When the connection is aborted, OpenSSL forgets the session, so the client's next handshake is a full one.
    """
    return ssl_object.session_reused is True and ssl_object.getpeercert(binary_form=True) is not None


def _verified_chain(ssl_object: Any) -> tuple[bytes, ...]:
    """Returns the certificates that this handshake verified, the client's own first.

    Empty if an authority presents its own certificate, which is not a user's, and in a resumed session, which verifies nothing.
    """
    chain = ssl_object._sslobj.get_verified_chain() or ()  # noqa: SLF001 public from Python 3.13 on
    return tuple(certificate.public_bytes(_DER) for certificate in chain) if len(chain) > 1 else ()


def parse_identity(certificate: Mapping[str, Any], chain: Sequence[bytes]) -> ClientIdentity | None:
    """Returns the identity in a certificate (a dict of `SSLObject.getpeercert`) and its chain; None without a common name."""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for kind, value in pairs if kind == "commonName"]
    if not names or not names[-1]:
        return None
    groups = [value for kind, value in pairs if kind == "organizationName" and value]
    user = User(names[-1], tuple(dict.fromkeys([*groups, AUTHENTICATED])))
    try:
        spans = [certificates.span(certificate) for certificate in chain]
        return ClientIdentity(user, max(begin for begin, _ in spans), min(end for _, end in spans))
    except (ValueError, IndexError):  # the chain is empty, or cannot be parsed
        return None
