"""Issues and verifies service account tokens. Each is signed by this server, for some audiences, and expires.

A token names its account by uid, and the pod, secret or node that it is bound to, if any. It is valid only while these exist: that
is checked with every request, so that deleting an account revokes its tokens at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from probate.api import object_keys, tenants, timestamps
from probate.api.rbac import users
from probate.api.rbac.users import User
from probate.core.clock import Clock
from probate.http.tls import authority
from probate.server.authn import jwt
from probate.server.authn.jwt import Claims, ParsedToken
from probate.server.codec import object_codec
from probate.settings import DEFAULT_ISSUER
from probate.store.contract import NO_REVISION, ReadResult, Record, Revision, Store

CLOCK_SKEW_SECONDS = 10.0
"""Seconds by which the clocks of servers may differ."""
DELETION_GRACE_SECONDS = 60.0
"""Seconds for which the token of an account or object that is being deleted stays valid. (Once it is gone, it is not.)"""
JWKS_PATH = "/openid/v1/jwks"
"""The path at which a server publishes the public keys that verify its tokens."""
BINDABLE_KINDS = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_PRIVATE_CLAIM = "kubernetes.io"
_EXTRA_PREFIX = "authentication.kubernetes.io"


class BoundObject(NamedTuple):
    """The object that a token is bound to besides its account."""

    kind: str
    name: str
    uid: str


class TokenRequest(NamedTuple):
    """A token to issue."""

    namespace: str
    name: str
    uid: str
    audiences: tuple[str, ...]
    expiration_seconds: int
    bound_object: BoundObject | None = None
    node: BoundObject | None = None  # the node of the pod that the token is bound to


class TokenBindings:
    """The objects that must exist for a token to be valid, as uids by store key, and the result of the last check.

    The check found them to exist until `valid_until`, at `revision`.
    """

    def __init__(self, claims: Claims) -> None:
        identity = claims[_PRIVATE_CLAIM]
        namespace, account = identity["namespace"], identity["serviceaccount"]
        self.namespace: str = namespace
        self.tenant = tenants.id_in_name(namespace)  # the tenant that may own the namespace
        self.uids: dict[str, str] = {object_keys.object_key("serviceaccounts", namespace, account["name"]): account["uid"]}
        for kind, plural in BINDABLE_KINDS.items():
            reference = identity.get(kind.lower())
            if reference is not None and not (kind == "Node" and "pod" in identity):  # a bound pod implies its node
                key = object_keys.object_key(plural, "" if kind == "Node" else namespace, reference["name"])
                self.uids[key] = reference["uid"]
        self.prefixes = tuple(key.rpartition("/")[0] + "/" for key in self.uids)
        self.valid_until = float("-inf")
        self.revision: Revision = NO_REVISION


class TokenIssuer:
    """Issues and verifies tokens. `key` returns the signing key as PEM, and is called when the key is first needed."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        key: Callable[[], bytes] = authority.new_signing_key,
        issuer: str = DEFAULT_ISSUER,
        audiences: tuple[str, ...] = (),
        jwks_uri: str = "",
    ) -> None:
        self.store = store
        self.clock = clock
        self._pem = key
        self.issuer = issuer
        self.audiences = audiences or (issuer,)
        self.jwks_uri = jwks_uri or f"{issuer.rstrip('/')}{JWKS_PATH}"  # for others that verify tokens themselves

    @cached_property
    def _key(self) -> Any:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        return load_pem_private_key(self._pem(), None)

    @cached_property
    def _public_key(self) -> Any:
        return self._key.public_key()

    @cached_property
    def _key_id(self) -> str:
        return jwt.key_id_of(self._public_key)

    def keys(self) -> list[Claims]:
        """Returns the public keys that verify tokens, as JWKs."""
        return [jwt.to_jwk(self._public_key)]

    async def check_open(self, request: TokenRequest) -> None:
        """Raises `Forbidden` if no tokens can be issued for this account at the moment."""

    def issue(self, request: TokenRequest, *, id_: str) -> tuple[str, float]:
        """Returns a token, and the time at which it expires."""
        now = int(self.clock.now())
        identity: Claims = {"namespace": request.namespace, "serviceaccount": {"name": request.name, "uid": request.uid}}
        for bound_object in (request.bound_object, request.node):
            if bound_object is not None:
                identity[bound_object.kind.lower()] = {"name": bound_object.name, "uid": bound_object.uid}
        claims: Claims = {
            "aud": list(request.audiences or self.audiences),
            "exp": now + request.expiration_seconds,
            "iat": now,
            "iss": self.issuer,
            "jti": id_,
            _PRIVATE_CLAIM: identity,
            "nbf": now,
            "sub": users.service_account_username(request.namespace, request.name),
        }
        return jwt.sign(claims, self._key, self._key_id), now + request.expiration_seconds

    def is_genuine(self, token: ParsedToken) -> bool:
        """Returns whether this server has signed the token, and the token has all claims that this server writes."""
        if token.claims.get("iss") != self.issuer or token.key_id != self._key_id:
            return False
        return jwt.is_signed_by(token, self._public_key) and _has_all_claims(token.claims)

    def is_valid_now(self, claims: Claims) -> bool:
        """Returns whether the current time lies between the token's `nbf` and `exp` claims."""
        now = self.clock.now()
        return bool(claims["nbf"] - CLOCK_SKEW_SECONDS <= now < claims["exp"])

    def audiences_of(self, claims: Claims, requested: tuple[str, ...]) -> tuple[str, ...]:
        """Returns which of the requested audiences the token is for; if none are requested, which of this server's own."""
        return tuple(audience for audience in requested or self.audiences if audience in claims["aud"])

    async def are_bindings_alive(self, bindings: TokenBindings) -> bool:
        """Returns whether all objects that a token is bound to exist. Reads them again only if something near them has changed."""
        if self.are_bindings_unchanged(bindings, self.clock.now()):
            return True
        calms = [self.store.unchanged_since(prefix) for prefix in bindings.prefixes]
        records = await self.store.read_many(list(bindings.uids))
        checked = zip(records, bindings.uids.values(), strict=True)
        bindings.valid_until = min(self._valid_until(record, uid) for record, uid in checked)
        bindings.revision = min((calm.now for calm in calms if calm is not None), default=NO_REVISION)
        return bindings.valid_until > self.clock.now()

    def are_bindings_unchanged(self, bindings: TokenBindings, now: float) -> bool:
        """Returns whether nothing has changed around the bound objects since the last check. Answers without reading the store."""
        if bindings.valid_until <= now:
            return False
        for prefix in bindings.prefixes:
            calm = self.store.unchanged_since(prefix)
            if calm is None or calm.since > bindings.revision:
                return False
        return True

    @staticmethod
    def _valid_until(record: ReadResult, uid: str) -> float:
        """Returns until when a token bound to this object is valid: never, if the object is gone, damaged or has another uid."""
        meta = object_codec.meta(record.value) if isinstance(record, Record) else None
        if meta is None or meta.uid != uid:
            return float("-inf")
        deleted_at = meta.deletion_timestamp
        return float("inf") if deleted_at is None else timestamps.parse_time(deleted_at) + DELETION_GRACE_SECONDS

    @staticmethod
    def user_of(claims: Claims) -> User:
        """Returns the account as a user."""
        identity = claims[_PRIVATE_CLAIM]
        extra = {f"{_EXTRA_PREFIX}/credential-id": (f"JTI={claims['jti']}",)}
        for kind in ("node", "pod"):
            if kind in identity:
                extra[f"{_EXTRA_PREFIX}/{kind}-name"] = (identity[kind]["name"],)
                extra[f"{_EXTRA_PREFIX}/{kind}-uid"] = (identity[kind]["uid"],)
        account = identity["serviceaccount"]
        return users.service_account_user(
            identity["namespace"], account["name"], account["uid"], extra=tuple(sorted(extra.items()))
        )


def _has_all_claims(claims: Claims) -> bool:
    """Returns whether the token has all claims that this server writes. (The signing key may have been used elsewhere too.)"""
    identity = claims.get(_PRIVATE_CLAIM)
    if not isinstance(identity, dict) or not isinstance(claims.get("aud"), list):
        return False
    times = all(isinstance(claims.get(name), int) for name in ("exp", "nbf"))
    account = identity.get("serviceaccount")
    texts = [identity.get("namespace"), *((account.get("name"), account.get("uid")) if isinstance(account, dict) else (None,))]
    return times and isinstance(claims.get("jti"), str) and all(isinstance(text, str) and text for text in texts)
