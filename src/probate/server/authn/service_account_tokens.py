"""Authenticates service account tokens. The signature of each is verified once.

Its validity period, its account and the object that it is bound to are checked with every request.
"""

from __future__ import annotations

from probate.core import errors
from probate.server.authn.service_accounts import CLOCK_SKEW_SECONDS, TokenBindings, TokenIssuer
from probate.server.authn.tenant_users import TenantUsers
from probate.server.authn.token_authenticator import AuthenticatedToken
from probate.server.authn.verified_tokens import BearerToken, TokenCache, VerifiedToken


class ServiceAccountTokenAuthenticator:
    """The tokens that this server has signed."""

    def __init__(self, accounts: TokenIssuer, tenants: TenantUsers) -> None:
        self._accounts = accounts
        self._tenants = tenants
        self._cache = TokenCache()

    async def verify(self, token: BearerToken) -> VerifiedToken | None:
        cached = self._cache.get(token.digest)
        if cached is not None:
            return cached
        parsed = token.parsed
        if parsed is None or not self._accounts.is_genuine(parsed):
            return None
        claims = parsed.claims
        not_before, expires = claims["nbf"] - CLOCK_SKEW_SECONDS, claims["exp"]
        user = self._accounts.user_of(claims)
        verified = VerifiedToken(self, user, not_before=not_before, expires=expires, claims=claims, bindings=TokenBindings(claims))
        self._cache.put(token.digest, verified)
        return verified

    def is_current(self, verified: VerifiedToken, now: float) -> bool:
        if verified.bindings is None or not verified.not_before <= now < verified.expires:
            return False
        bindings = verified.bindings
        try:
            if bindings.tenant and not self._tenants.is_account_cached(verified.user, bindings.namespace):
                return False
            return self._accounts.are_bindings_unchanged(bindings, now)
        except errors.ApiError:  # `confirm` reads the store, and reports its failure to the client
            return False

    async def confirm(self, verified: VerifiedToken, audiences: tuple[str, ...]) -> AuthenticatedToken:
        matching = self._accounts.audiences_of(verified.claims, audiences)
        if verified.bindings is None or not matching or not await self._accounts.are_bindings_alive(verified.bindings):
            raise errors.Unauthorized
        user = (
            await self._tenants.account(verified.user, verified.bindings.namespace) if verified.bindings.tenant else verified.user
        )
        if not self._accounts.is_valid_now(
            verified.claims
        ):  # after the awaits: the token may have expired while the store was read
            raise errors.Unauthorized
        return AuthenticatedToken(user, matching)

    def evict(self) -> None:
        self._cache.evict()
