"""Client certificates: the common name is the user, each organization a group. (That they are rightly signed, TLS has seen to.)"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

from probate.machinery.rbac.users import AUTHENTICATED, User


class Peer(NamedTuple):
    """Whom a certificate is of, and from when to when."""

    user: User
    begins: float
    ends: float


def peer_of(certificate: Mapping[str, Any] | None) -> Peer | None:
    """Whom a certificate is of, given as `SSLObject.getpeercert` has it. None if there is none, or it names nobody."""
    if not certificate:
        return None
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for kind, value in pairs if kind == "commonName"]
    if not names or not names[-1]:
        return None
    groups = [value for kind, value in pairs if kind == "organizationName" and value]
    user = User(names[-1], tuple(dict.fromkeys([*groups, AUTHENTICATED])))
    begins, ends = (ssl.cert_time_to_seconds(certificate[name]) for name in ("notBefore", "notAfter"))
    return Peer(user, begins, ends)
