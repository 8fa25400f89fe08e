"""Authenticates requests: by the client's certificate first, then by a bearer token. A request with neither is anonymous.

Anonymous requests may only read the health endpoints. Any wrong credential is answered with 401, without the reason: the reason
would only help an attacker. Verified tokens are cached by hash; what can change (time, accounts, files, keys) is checked with each
request by the authenticator that verified the token (`verified_tokens`).

Fast path: most requests repeat the Authorization header of a recent one, so verified tokens are also cached by the whole header.
Python looks the header up by a hash with a key of this process, so the time of the lookup does not reveal how close a guess is.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from probate.api.rbac.users import ANONYMOUS, User
from probate.core import errors
from probate.core.clock import Clock
from probate.http.limit_log import LimitLog
from probate.http.tls.client_certificates import TenantClaim
from probate.server.authn import oidc as openid_connect
from probate.server.authn import oidc_tokens
from probate.server.authn.failure_limit import FailureLimiter
from probate.server.authn.service_account_tokens import ServiceAccountTokenAuthenticator
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.tenant_users import TenantUsers
from probate.server.authn.token_authenticator import AuthenticatedToken
from probate.server.authn.token_file import TokenFile
from probate.server.authn.verified_tokens import BearerToken, TokenAuthenticator, VerifiedToken

ANONYMOUS_PATHS = ("/livez", "/readyz", "/healthz")
"""The paths that a request without credentials may read."""
MAX_CACHED_HEADERS = 500


class RequestAuthenticator:
    """Authenticates requests by certificate, token file, service account token and OpenID Connect, as configured."""

    def __init__(
        self,
        clock: Clock,
        accounts: TokenIssuer,
        *,
        token_file: TokenFile | None = None,
        oidc: openid_connect.OidcVerifier | None = None,
        limits: LimitLog | None = None,
    ) -> None:
        self._clock = clock
        self.tenants = TenantUsers(accounts.store)
        configured = (
            token_file,
            ServiceAccountTokenAuthenticator(accounts, self.tenants),
            None if oidc is None else oidc_tokens.OidcTokenAuthenticator(oidc),
        )
        self._authenticators: tuple[TokenAuthenticator, ...] = tuple(item for item in configured if item is not None)
        self._by_header: dict[bytes, VerifiedToken] = {}
        self._failures = FailureLimiter(clock, limits or LimitLog(clock))

    def cached_user(self, scope: MutableMapping[str, Any]) -> User | None:
        """Returns the request's user from the caches alone, or None if `__call__` has to authenticate it.

        Fast path: never awaits and parses nothing. It returns the user that `__call__` returns.
        """
        peer = scope.get("peer")
        if peer is not None:
            if not peer.not_before <= self._clock.now() < peer.not_after:
                return None
            return peer.user if peer.claim is None or self._is_claim_cached(peer.claim) else None
        known = scope.get("known")
        if known is not None:
            header = known.by_name.get(b"authorization")
        else:
            headers = [value for name, value in scope["headers"] if name == b"authorization"]
            header = headers[0] if len(headers) == 1 else None
        verified = self._by_header.get(header)
        if verified is None or not verified.authenticator.is_current(verified, self._clock.now()):
            return None
        return verified.user

    async def __call__(self, scope: MutableMapping[str, Any]) -> User:
        """Returns the request's user. Raises `Unauthorized` if its credentials are wrong or missing."""
        peer = scope.get("peer")
        if peer is not None and peer.not_before <= self._clock.now() < peer.not_after:
            if peer.claim is not None:
                await self.tenants.check(peer.claim)
            return peer.user  # type: ignore[no-any-return]
        headers = [value for name, value in scope["headers"] if name == b"authorization"]
        if headers:
            return await self._authenticate_headers(headers, scope)
        if peer is None and scope["path"].startswith(ANONYMOUS_PATHS):
            return ANONYMOUS
        raise errors.Unauthorized

    async def _authenticate_headers(self, headers: list[bytes], scope: MutableMapping[str, Any]) -> User:
        """Returns the user of an Authorization header.

        The header is verified whatever address it comes from: a valid one is never refused for what others sent from there.
        """
        address = (scope.get("client") or ("",))[0]
        try:
            verified, recognised = await self._verify(BearerToken(_bearer(headers), address), ())
        except (errors.Unauthorized, errors.TooManyRequests) as error:
            response = self._failures.record(address, headers[0]) if isinstance(error, errors.Unauthorized) else error
            if isinstance(response, errors.TooManyRequests):
                await self._clock.sleep(self._failures.delay())
            raise response from None
        self._remember(headers[0], verified._replace(user=recognised.user))
        return recognised.user

    def _is_claim_cached(self, claim: TenantClaim) -> bool:
        try:
            return self.tenants.is_cached(claim)
        except errors.ApiError:  # `__call__` reads the store, and reports its failure to the client
            return False

    def _remember(self, header: bytes, verified: VerifiedToken) -> None:
        if len(self._by_header) >= MAX_CACHED_HEADERS:
            self._by_header.clear()
        self._by_header[header] = verified

    def evict(self) -> None:
        """Empties all caches. This changes only how long the next requests take."""
        self._by_header.clear()
        for authenticator in self._authenticators:
            authenticator.evict()

    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> AuthenticatedToken:
        """Returns the user of a token, as a TokenReview needs it. Raises `Unauthorized` if the token is not valid."""
        return (await self._verify(BearerToken(token), audiences))[1]

    async def _verify(self, token: BearerToken, audiences: tuple[str, ...]) -> tuple[VerifiedToken, AuthenticatedToken]:
        for authenticator in self._authenticators:
            verified = await authenticator.verify(token)
            if verified is not None:
                return verified, await authenticator.confirm(verified, audiences)
        raise errors.Unauthorized


def _bearer(headers: list[bytes]) -> str:
    """Returns the bearer token of a request that has exactly one Authorization header."""
    scheme, _, token = headers[0].decode("latin-1").partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer":
        raise errors.Unauthorized
    return token.strip()
