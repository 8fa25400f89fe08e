"""Client certificates: the common name is the user, each organization a group. (That they are rightly signed, TLS has seen to.)

One is good for as long as all are by which it is: its own, the one that signed it, and so on up to the authority's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from probate.api.rbac.users import AUTHENTICATED, User
from probate.lib.x509 import certificates

MAX_KNOWN = 500
_DER = 2  # `ENCODING_DER`, which the module `ssl` does not show


class Peer(NamedTuple):
    """Whom a certificate is of, and from when to when."""

    user: User
    begins: float
    ends: float


_known: dict[tuple[bytes, ...], Peer | None] = {}  # by what was shown: to read it takes as long as several requests


def shown_by(secured: Any) -> Peer | None:
    """Whom the certificate is of that a client has shown (`secured`: the `SSLObject` of its connection). None if it has not."""
    if not secured.getpeercert(binary_form=True):
        return None
    chain = _chain(secured)
    if chain not in _known:
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        _known[chain] = peer_of(secured.getpeercert(), chain)
    return _known[chain]


def is_resumed(secured: Any) -> bool:
    """Whether a client resumes a session in which it has shown a certificate.

    OpenSSL caches sessions of TLS 1.2, and Python cannot turn that off. A resumed session does not verify the certificate again.
    When its connection is aborted OpenSSL forgets the session, so the client's next handshake is a full one.
    """
    return secured.session_reused is True and secured.getpeercert(binary_form=True) is not None


def _chain(secured: Any) -> tuple[bytes, ...]:
    """The certificates that were verified in this handshake, the client's own first.

    Empty if an authority shows its own certificate, which is not a user's, and in a resumed session, which verifies nothing.
    """
    found = secured._sslobj.get_verified_chain() or ()  # noqa: SLF001 Python 3.13 is the first to have it on the outside
    return tuple(one.public_bytes(_DER) for one in found) if len(found) > 1 else ()


def peer_of(certificate: Mapping[str, Any], chain: Sequence[bytes]) -> Peer | None:
    """Whom a certificate is of, given as `SSLObject.getpeercert` has it, with its chain. None if it names nobody."""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for kind, value in pairs if kind == "commonName"]
    if not names or not names[-1]:
        return None
    groups = [value for kind, value in pairs if kind == "organizationName" and value]
    user = User(names[-1], tuple(dict.fromkeys([*groups, AUTHENTICATED])))
    try:
        spans = [certificates.span(one) for one in chain]
        return Peer(user, max(begins for begins, _ in spans), min(ends for _, ends in spans))
    except (ValueError, IndexError):  # there is none, or it cannot be read
        return None
