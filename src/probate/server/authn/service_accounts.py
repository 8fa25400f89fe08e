"""Tokens of service accounts: signed by this server, for some audiences, for a while, and dead with what they are bound to.

A token names its account by uid, and the pod, secret or node that it is bound to, if any. It is good while these are there: that is
looked up with every request, since whoever deletes an account means it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from probate.api import timestamps
from probate.api.rbac import users
from probate.api.rbac.users import User
from probate.core.clock import Clock
from probate.http.tls import authority
from probate.server.authn import jwt
from probate.server.authn.jwt import Claims, Parsed
from probate.server.codec import object_codec
from probate.settings import DEFAULT_ISSUER
from probate.store.contract import NOTHING, Found, Record, Revision, Store

LEEWAY = 10.0
"""Seconds by which the clocks of servers may differ."""
AFTER_DELETION = 60.0
"""Seconds for which something that is being deleted may go on as it is. (Once it is gone, its tokens are dead.)"""
KEYS = "/openid/v1/jwks"
"""Where a server tells the public keys of those that it signs with."""
BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_PRIVATE = "kubernetes.io"
_EXTRA = "authentication.kubernetes.io"


class Bound(NamedTuple):
    """What a token is bound to besides its account."""

    kind: str
    name: str
    uid: str


class Wanted(NamedTuple):
    """A token to be made."""

    namespace: str
    name: str
    uid: str
    audiences: tuple[str, ...]
    seconds: int
    bound: Bound | None = None
    node: Bound | None = None  # of the pod that it is bound to


class Ties:
    """What has to be there for a token to be good: uids by keys. And until when it was found to be so, as of when."""

    def __init__(self, claims: Claims) -> None:
        about = claims[_PRIVATE]
        namespace, account = about["namespace"], about["serviceaccount"]
        self.uids: dict[str, str] = {f"objects/serviceaccounts/{namespace}/{account['name']}": account["uid"]}
        for kind, plural in BOUND.items():
            one = about.get(kind.lower())
            if one is not None and not (kind == "Node" and "pod" in about):  # a pod says itself where it is
                self.uids[f"objects/{plural}/{'-' if kind == 'Node' else namespace}/{one['name']}"] = one["uid"]
        self.ranges = tuple(key.rpartition("/")[0] + "/" for key in self.uids)
        self.until = float("-inf")
        self.seen: Revision = NOTHING


class Accounts:
    """Makes such tokens, and recognises them. `key` gives the key to sign with, as PEM; it is asked when it is first needed."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        key: Callable[[], bytes] = authority.new_signing_key,
        issuer: str = DEFAULT_ISSUER,
        audiences: tuple[str, ...] = (),
        keys_at: str = "",
    ) -> None:
        self._store = store
        self._clock = clock
        self._pem = key
        self.issuer = issuer
        self.audiences = audiences or (issuer,)
        self.keys_at = keys_at or f"{issuer.rstrip('/')}{KEYS}"  # for others, who verify tokens themselves

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
        """The public keys of those that tokens are signed with, as JWKs."""
        return [jwt.description(self._public_key)]

    def issue(self, wanted: Wanted, *, id_: str) -> tuple[str, float]:
        """A token, and when it ends."""
        now = int(self._clock.now())
        about: Claims = {"namespace": wanted.namespace, "serviceaccount": {"name": wanted.name, "uid": wanted.uid}}
        for one in (wanted.bound, wanted.node):
            if one is not None:
                about[one.kind.lower()] = {"name": one.name, "uid": one.uid}
        claims: Claims = {
            "aud": list(wanted.audiences or self.audiences),
            "exp": now + wanted.seconds,
            "iat": now,
            "iss": self.issuer,
            "jti": id_,
            _PRIVATE: about,
            "nbf": now,
            "sub": users.account_name(wanted.namespace, wanted.name),
        }
        return jwt.sign(claims, self._key, self._key_id), now + wanted.seconds

    def is_sound(self, parsed: Parsed) -> bool:
        """Whether this server has signed the token, and it says what such tokens say."""
        if parsed.claims.get("iss") != self.issuer or parsed.key_id != self._key_id:
            return False
        return jwt.is_signed_by(parsed, self._public_key) and _is_whole(parsed.claims)

    def is_timely(self, claims: Claims) -> bool:
        """Whether the token has begun, and has not ended."""
        now = self._clock.now()
        return bool(claims["nbf"] - LEEWAY <= now < claims["exp"])

    def audiences_of(self, claims: Claims, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """For which of the audiences the token is; for which of our own, if none are named."""
        return tuple(one for one in wanted or self.audiences if one in claims["aud"])

    async def lives(self, ties: Ties) -> bool:
        """Whether all that a token is tied to is there. Where nothing has changed around that, it is not read again."""
        if self.are_unchanged(ties, self._clock.now()):
            return True
        calms = [self._store.calm(prefix) for prefix in ties.ranges]
        found = await self._store.read_many(list(ties.uids))
        ties.until = min(self._end(record, uid) for record, uid in zip(found, ties.uids.values(), strict=True))
        ties.seen = min((calm.now for calm in calms if calm is not None), default=NOTHING)
        return ties.until > self._clock.now()

    def are_unchanged(self, ties: Ties, now: float) -> bool:
        """Whether all that is as it was when it was found to be there, as far as that can be known without asking anybody."""
        if ties.until <= now:
            return False
        for prefix in ties.ranges:
            calm = self._store.calm(prefix)
            if calm is None or calm.since > ties.seen:
                return False
        return True

    @staticmethod
    def _end(record: Found, uid: str) -> float:
        """Until when a token may be used for what it is tied to: not at all, if that is gone or damaged, or is another now."""
        meta = object_codec.meta(record.value) if isinstance(record, Record) else None
        if meta is None or meta.uid != uid:
            return float("-inf")
        stamp = meta.deletion_timestamp
        return float("inf") if stamp is None else timestamps.seconds(stamp) + AFTER_DELETION

    @staticmethod
    def user_of(claims: Claims) -> User:
        """The account as a user."""
        about = claims[_PRIVATE]
        extra = {f"{_EXTRA}/credential-id": (f"JTI={claims['jti']}",)}
        for kind in ("node", "pod"):
            if kind in about:
                extra[f"{_EXTRA}/{kind}-name"] = (about[kind]["name"],)
                extra[f"{_EXTRA}/{kind}-uid"] = (about[kind]["uid"],)
        account = about["serviceaccount"]
        return users.account(about["namespace"], account["name"], account["uid"], tuple(sorted(extra.items())))


def _is_whole(claims: Claims) -> bool:
    """Whether everything is there that we write. (The signature says that it was us; a key may have been used for more.)"""
    about = claims.get(_PRIVATE)
    if not isinstance(about, dict) or not isinstance(claims.get("aud"), list):
        return False
    times = all(isinstance(claims.get(name), int) for name in ("exp", "nbf"))
    account = about.get("serviceaccount")
    named = [about.get("namespace"), *((account.get("name"), account.get("uid")) if isinstance(account, dict) else (None,))]
    return times and isinstance(claims.get("jti"), str) and all(isinstance(one, str) and one for one in named)
