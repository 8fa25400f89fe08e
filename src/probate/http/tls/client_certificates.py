"""The identity in a client certificate: the common name is the user, each organization a group. (TLS has verified the signatures.)

A certificate is valid while its whole chain is: itself, the certificate that signed it, and so on up to the authority's.

A certificate of a tenant's user has the tenant's id as its organizational unit, a common name that begins with the id and a dash,
and the tenant's uid in a URI. Only the server's own authority signs such certificates: one of `--client-ca-file`, which anybody may
run, makes users of the platform only. Whether the tenant exists is checked with each request (`server.authn.tenant_users`):

    CN=111111-admin  OU=111111  URI tenant:<uid>      admin of tenant 111111, if it exists and has this uid
    CN=111111-admin                                   a user of the platform, whatever the name looks like
    CN=ann  OU=london                                 a user of the platform, unless there is a tenant named london
    some of the three, or such that do not match      no identity
    all three, signed by another authority            no identity
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from probate.api import tenants
from probate.api.rbac import users
from probate.api.rbac.users import AUTHENTICATED, User
from probate.lib.x509 import certificates

MAX_ENTRIES = 500
_DER = 2  # `ENCODING_DER`, which the module `ssl` does not export


TENANT_URI = "tenant:"
"""What the URI begins with that holds the uid of a tenant."""


class TenantClaim(NamedTuple):
    """What a certificate says about tenants: the ids in its organizational units, and the uid that the tenant must have.

    Without a uid the user is one of the platform, but only as long as there is no tenant of these ids.
    """

    tenants: tuple[str, ...]
    uid: str = ""


class ClientIdentity(NamedTuple):
    """The user that a certificate identifies, and the times between which its chain is valid."""

    user: User
    not_before: float
    not_after: float
    claim: TenantClaim | None = None


_Known: TypeAlias = tuple[tuple[bytes, ...], bool]
_cache: dict[_Known, ClientIdentity | None] = {}  # by chain and authority: to parse a certificate takes as long as several requests


def client_identity(ssl_object: Any) -> ClientIdentity | None:
    """Returns the identity in a connection's client certificate (`ssl_object`: its `SSLObject`); None without a certificate."""
    if not ssl_object.getpeercert(binary_form=True):
        return None
    chain = _verified_chain(ssl_object)
    is_own = bool(chain) and chain[-1] in getattr(ssl_object.context, "own_authorities", ())
    if (chain, is_own) not in _cache:
        if len(_cache) >= MAX_ENTRIES:
            _cache.clear()
        _cache[chain, is_own] = parse_identity(ssl_object.getpeercert(), chain, is_own=is_own)
    return _cache[chain, is_own]


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


def parse_identity(certificate: Mapping[str, Any], chain: Sequence[bytes], *, is_own: bool = True) -> ClientIdentity | None:
    """Returns the identity in a certificate (a dict of `SSLObject.getpeercert`) and its chain. `is_own`: the server's authority
    has signed it.

    None without a common name, and if what it says of a tenant does not match or is not signed by the server's authority.
    """
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for kind, value in pairs if kind == "commonName"]
    if not names or not names[-1]:
        return None
    groups = [value for kind, value in pairs if kind == "organizationName" and value]
    user = User(names[-1], tuple(dict.fromkeys([*groups, AUTHENTICATED])))
    try:
        claim = _tenant_claim(names, certificate)
        if claim is not None and claim.uid:
            if not is_own:
                return None
            user = users.tenant_user(user, claim.tenants[0])
        spans = [certificates.span(certificate) for certificate in chain]
        return ClientIdentity(user, max(begin for begin, _ in spans), min(end for _, end in spans), claim)
    except (ValueError, IndexError):  # the chain is empty, or cannot be parsed
        return None


def _tenant_claim(names: Sequence[str], certificate: Mapping[str, Any]) -> TenantClaim | None:
    """Returns what the certificate says about tenants; None if it says nothing. Raises `ValueError` if that does not match."""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    units = [value for kind, value in pairs if kind == "organizationalUnitName"]
    ids = tuple(dict.fromkeys(value for value in units if tenants.is_valid_id(value)))
    uris = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI"]
    uids = [uri.removeprefix(TENANT_URI) for uri in uris if uri.startswith(TENANT_URI)]
    is_named = [len(name) > len(prefix) and name.startswith(prefix) for prefix in map(tenants.prefix_of, ids) for name in names]
    if not uids and not any(is_named):
        return TenantClaim(ids) if ids else None
    if len(units) != 1 or is_named != [True] or len(uids) != 1 or not uids[0]:
        raise ValueError("the certificate's organizational unit, common name and URI are not those of one tenant")
    return TenantClaim(ids, uids[0])
