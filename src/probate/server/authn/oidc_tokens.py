"""Authenticates the ID tokens of an OpenID Connect issuer.

A token counts as verified only with the keys that the issuer publishes now: when these change, or are due to be fetched again, its
signature is checked again.
"""

from __future__ import annotations

from probate.core import errors
from probate.server.authn.oidc import LEEWAY, Oidc
from probate.server.authn.verified_tokens import ShownToken, TokenCache, VerifiedToken
from probate.server.context import Recognised


class OidcTokens:
    """Tokens that an issuer elsewhere has signed."""

    def __init__(self, oidc: Oidc) -> None:
        self._oidc = oidc
        self._cache = TokenCache()

    async def verify(self, shown: ShownToken) -> VerifiedToken | None:
        if not self._oidc.is_outdated:
            found = self._cache.get(shown.digest, self._oidc.generation)
            if found is not None:
                return found
        parsed = shown.parsed
        user = None if parsed is None else await self._oidc.recognise(parsed, shown.address)
        if user is None or parsed is None:
            return None
        claims = parsed.claims  # nothing is awaited from the signature check to here, so this is the generation of its keys
        begins, ends = claims.get("nbf", 0) - LEEWAY, claims["exp"]
        verified = VerifiedToken(self, user, self._oidc.generation, begins=begins, ends=ends, claims=claims)
        self._cache.put(shown.digest, verified)
        return verified

    def is_current(self, verified: VerifiedToken, now: float) -> bool:
        is_fresh = verified.generation == self._oidc.generation and not self._oidc.is_outdated
        return is_fresh and verified.begins <= now < verified.ends

    async def confirm(self, verified: VerifiedToken, _audiences: tuple[str, ...]) -> Recognised:
        if not self._oidc.is_timely(verified.claims):
            raise errors.Unauthorized
        return Recognised(verified.user)

    def evict(self) -> None:
        self._cache.evict()
