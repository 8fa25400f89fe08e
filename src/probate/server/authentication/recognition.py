"""A request's credentials, one after the other: the client's certificate, then its token. Nobody else is anybody.

Without credentials one may ask how the server is, and no more. Wrong ones are 401, whatever is wrong with them: what that is helps
only who tries. What was recognised is remembered by a hash; what can change (time, accounts, files) is looked at each time.

Most requests come from those who asked lately, with the same header. They are recalled by all of it: Python finds it by a hash with
a key of this process, so how long that takes says nothing of how near a guess comes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

from probate import errors
from probate.clock import Clock
from probate.machinery.rbac.users import ANONYMOUS, User
from probate.server.api import Recognised
from probate.server.authentication import jwt
from probate.server.authentication import oidc as issuers
from probate.server.authentication.accounts import LEEWAY, Accounts, Ties
from probate.server.authentication.failures import Failures
from probate.server.authentication.jwt import Claims, Parsed
from probate.server.authentication.listed import Listed

OPEN = ("/livez", "/readyz", "/healthz")
"""What may be asked by who says nothing of themselves."""
MAX_KNOWN = 4_000
MAX_LATELY = 500


class Known(NamedTuple):
    """A token whose signature is right."""

    user: User
    claims: Claims
    ties: Ties | None  # of a token of a service account


class Lately(NamedTuple):
    """A token that was good lately. It is so from when to when, while its ties hold, or while the file says so."""

    user: User
    begins: float
    ends: float
    ties: Ties | None = None
    listed: Mapping[str, User] | None = None


class Recognition:
    """Everybody that one server knows."""

    def __init__(self, clock: Clock, accounts: Accounts, *, listed: Listed | None = None, oidc: issuers.Oidc | None = None) -> None:
        self._clock = clock
        self._accounts = accounts
        self._listed = listed
        self._oidc = oidc
        self._known: dict[str, Known] = {}
        self._lately: dict[bytes, Lately] = {}  # by whole headers
        self._failures = Failures(clock)

    def recall(self, scope: MutableMapping[str, Any]) -> User | None:
        """Who a request is from, if that can be told without asking anybody and making anything of what it shows."""
        peer = scope.get("peer")
        if peer is not None:
            return peer.user if peer.begins <= self._clock.now() < peer.ends else None
        known = scope.get("known")
        if known is not None:
            given = known.by_name.get(b"authorization")
        else:
            all_given = [value for name, value in scope["headers"] if name == b"authorization"]
            given = all_given[0] if len(all_given) == 1 else None
        found = self._lately.get(given)
        return found.user if found is not None and self._is_still(found, self._clock.now()) else None

    def _is_still(self, found: Lately, now: float) -> bool:
        if not found.begins <= now < found.ends:
            return False
        if found.ties is not None:
            try:
                return self._accounts.are_unchanged(found.ties, now)
            except errors.ApiError:  # who asks the store again is told
                return False
        return found.listed is None or (self._listed is not None and found.listed is self._listed.users)

    async def __call__(self, scope: MutableMapping[str, Any]) -> User:
        """Who a request is from. `Unauthorized` if nobody can tell."""
        peer = scope.get("peer")
        if peer is not None and peer.begins <= self._clock.now() < peer.ends:
            return peer.user  # type: ignore[no-any-return]
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if given:
            return await self._authorized(given, scope)
        if peer is None and scope["path"].startswith(OPEN):
            return ANONYMOUS
        raise errors.Unauthorized

    async def _authorized(self, given: list[bytes], scope: MutableMapping[str, Any]) -> User:
        address = (scope.get("client") or ("",))[0]
        try:
            token = _bearer(given)
            user = (await self._find(token, (), address)).user
        except errors.Unauthorized:
            self._failures.note(address)
            raise
        self._remember(given[0], user, self._known.get(_digest(token)))
        return user

    def _remember(self, header: bytes, user: User, known: Known | None) -> None:
        if len(self._lately) >= MAX_LATELY:
            self._lately.clear()
        if known is not None:
            begins, ends = known.claims.get("nbf", 0) - LEEWAY, known.claims["exp"]
            self._lately[header] = Lately(user, begins, ends, ties=known.ties)
        elif self._listed is not None:
            self._lately[header] = Lately(user, float("-inf"), float("inf"), listed=self._listed.users)

    async def of_token(self, token: str, audiences: tuple[str, ...]) -> Recognised:
        """Whom a token is of. `Unauthorized` if nobody can tell."""
        return await self._find(token, audiences, None)

    async def _find(self, token: str, audiences: tuple[str, ...], address: str | None) -> Recognised:
        digest = _digest(token)
        user = self._listed.find(digest) if self._listed is not None else None
        if user is not None:
            return Recognised(user)
        known = self._known.get(digest)
        if known is None:
            if address is not None:
                self._failures.check(address)
            known = await self._examine(token)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[digest] = known
        return await self._still(known, audiences)

    async def _examine(self, token: str) -> Known:
        parsed = jwt.parse(token)
        if parsed is None:
            raise errors.Unauthorized
        if parsed.claims.get("iss") == self._accounts.issuer and self._accounts.is_sound(parsed):
            return Known(self._accounts.user_of(parsed.claims), parsed.claims, Ties(parsed.claims))
        return await self._elsewhere(parsed)

    async def _elsewhere(self, parsed: Parsed) -> Known:
        user = await self._oidc.recognise(parsed) if self._oidc is not None else None
        if user is None:
            raise errors.Unauthorized
        return Known(user, parsed.claims, None)

    async def _still(self, known: Known, audiences: tuple[str, ...]) -> Recognised:
        """Whom a rightly signed token is of, if it is good now and for these audiences."""
        if known.ties is None:
            if self._oidc is None or not self._oidc.is_timely(known.claims):
                raise errors.Unauthorized
            return Recognised(known.user)
        found = self._accounts.audiences_of(known.claims, audiences)
        if not found or not self._accounts.is_timely(known.claims) or not await self._accounts.lives(known.ties):
            raise errors.Unauthorized
        return Recognised(known.user, found)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("latin-1", "replace")).hexdigest()


def _bearer(given: list[bytes]) -> str:
    """The one token that a request's headers have."""
    scheme, _, token = given[0].decode("latin-1").partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        raise errors.Unauthorized
    return token.strip()
