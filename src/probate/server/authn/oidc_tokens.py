"""Authenticates the ID tokens of an OpenID Connect issuer.

A cached token counts as verified only with the keys in use now: when the keys change, or are due to be fetched again, the signature
is verified again.
"""

from __future__ import annotations

from probate.core import errors
from probate.server.authn.oidc import CLOCK_SKEW_SECONDS, OidcVerifier
from probate.server.authn.token_authenticator import AuthenticatedToken
from probate.server.authn.verified_tokens import BearerToken, TokenCache, VerifiedToken


class OidcTokenAuthenticator:
    """The tokens that an OpenID Connect issuer has signed."""

    def __init__(self, oidc: OidcVerifier) -> None:
        self._oidc = oidc
        self._cache = TokenCache()

    async def verify(self, token: BearerToken) -> VerifiedToken | None:
        if not self._oidc.has_outdated_keys:
            cached = self._cache.get(token.digest, self._oidc.generation)
            if cached is not None:
                return cached
        parsed = token.parsed
        user = None if parsed is None else await self._oidc.authenticate(parsed, token.address)
        if user is None or parsed is None:
            return None
        claims = parsed.claims  # no await since the signature check, so `generation` is that of the keys it used
        not_before, expires = claims.get("nbf", 0) - CLOCK_SKEW_SECONDS, claims["exp"]
        verified = VerifiedToken(self, user, self._oidc.generation, not_before=not_before, expires=expires, claims=claims)
        self._cache.put(token.digest, verified)
        return verified

    def is_current(self, verified: VerifiedToken, now: float) -> bool:
        is_fresh = verified.generation == self._oidc.generation and not self._oidc.has_outdated_keys
        return is_fresh and verified.not_before <= now < verified.expires

    async def confirm(self, verified: VerifiedToken, _audiences: tuple[str, ...]) -> AuthenticatedToken:
        if not self._oidc.is_valid_now(verified.claims):
            raise errors.Unauthorized
        return AuthenticatedToken(verified.user)

    def evict(self) -> None:
        self._cache.evict()
