"""Authenticates the tokens of service accounts. Their signature is checked once.

Their times, their account and the object that they are bound to are checked with every request.
"""

from __future__ import annotations

from probate.core import errors
from probate.server.authn.service_accounts import LEEWAY, Accounts, Ties
from probate.server.authn.verified_tokens import ShownToken, TokenCache, VerifiedToken
from probate.server.context import Recognised


class ServiceAccountTokens:
    """Tokens that this server has signed."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._cache = TokenCache()

    async def verify(self, shown: ShownToken) -> VerifiedToken | None:
        found = self._cache.get(shown.digest)
        if found is not None:
            return found
        parsed = shown.parsed
        if parsed is None or not self._accounts.is_sound(parsed):
            return None
        claims = parsed.claims
        begins, ends = claims["nbf"] - LEEWAY, claims["exp"]
        user = self._accounts.user_of(claims)
        verified = VerifiedToken(self, user, begins=begins, ends=ends, claims=claims, ties=Ties(claims))
        self._cache.put(shown.digest, verified)
        return verified

    def is_current(self, verified: VerifiedToken, now: float) -> bool:
        if verified.ties is None or not verified.begins <= now < verified.ends:
            return False
        try:
            return self._accounts.are_unchanged(verified.ties, now)
        except errors.ApiError:  # `confirm` asks the store, and tells the client what is wrong with it
            return False

    async def confirm(self, verified: VerifiedToken, audiences: tuple[str, ...]) -> Recognised:
        found = self._accounts.audiences_of(verified.claims, audiences)
        if verified.ties is None or not found or not await self._accounts.lives(verified.ties):
            raise errors.Unauthorized
        if not self._accounts.is_timely(verified.claims):  # after the await: the token may have expired while the store was read
            raise errors.Unauthorized
        return Recognised(verified.user, found)

    def evict(self) -> None:
        self._cache.evict()
