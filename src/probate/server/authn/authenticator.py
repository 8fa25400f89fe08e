"""A request's credentials, one after the other: the client's certificate, then its token. Nobody else is anybody.

Without credentials one may ask how the server is, and no more. Wrong ones are 401, whatever is wrong with them: what that is helps
only who tries. What was recognised is remembered by a hash; what can change (time, accounts, files, keys) is looked at each time,
by the authenticator that recognised it (`verified_tokens`).

Most requests come from those who asked lately, with the same header. They are recalled by all of it: Python finds it by a hash with
a key of this process, so how long that takes says nothing of how near a guess comes.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from probate.api.rbac.users import ANONYMOUS, User
from probate.core import errors
from probate.core.clock import Clock
from probate.http.limit_log import LimitLog
from probate.server.authn import oidc as issuers
from probate.server.authn import oidc_tokens
from probate.server.authn.failure_limit import Failures
from probate.server.authn.service_account_tokens import ServiceAccountTokens
from probate.server.authn.service_accounts import Accounts
from probate.server.authn.token_file import Listed
from probate.server.authn.verified_tokens import Authenticator, ShownToken, VerifiedToken
from probate.server.context import Recognised

OPEN = ("/livez", "/readyz", "/healthz")
"""What may be asked by who says nothing of themselves."""
MAX_LATELY = 500
PACE_SECONDS = 1.0
"""How long the answer 429 to a wrong credential is held back: clients that do not wait when told to are slowed down by it."""


class Recognition:
    """Everybody that one server knows."""

    def __init__(
        self,
        clock: Clock,
        accounts: Accounts,
        *,
        listed: Listed | None = None,
        oidc: issuers.Oidc | None = None,
        limits: LimitLog | None = None,
    ) -> None:
        self._clock = clock
        found = (listed, ServiceAccountTokens(accounts), None if oidc is None else oidc_tokens.OidcTokens(oidc))
        self._authenticators: tuple[Authenticator, ...] = tuple(one for one in found if one is not None)
        self._lately: dict[bytes, VerifiedToken] = {}  # by whole headers
        self._failures = Failures(clock, limits or LimitLog(clock))

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
        if found is None or not found.authenticator.is_current(found, self._clock.now()):
            return None
        return found.user

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
        """Who a header is of. Whatever address it comes from, it is verified: a good one is never refused for what others sent."""
        address = (scope.get("client") or ("",))[0]
        try:
            verified, recognised = await self._find(ShownToken(_bearer(given), address), ())
        except (errors.Unauthorized, errors.TooManyRequests) as error:
            refusal = self._failures.refusal(address, given[0]) if isinstance(error, errors.Unauthorized) else error
            if isinstance(refusal, errors.TooManyRequests):
                await self._clock.sleep(PACE_SECONDS)
            raise refusal from None
        self._remember(given[0], verified)
        return recognised.user

    def _remember(self, header: bytes, verified: VerifiedToken) -> None:
        if len(self._lately) >= MAX_LATELY:
            self._lately.clear()
        self._lately[header] = verified

    def evict(self) -> None:
        """Empty all caches. It changes nothing but how long the next requests take."""
        self._lately.clear()
        for one in self._authenticators:
            one.evict()

    async def of_token(self, token: str, audiences: tuple[str, ...]) -> Recognised:
        """Whom a token is of. `Unauthorized` if nobody can tell."""
        return (await self._find(ShownToken(token), audiences))[1]

    async def _find(self, shown: ShownToken, audiences: tuple[str, ...]) -> tuple[VerifiedToken, Recognised]:
        for one in self._authenticators:
            verified = await one.verify(shown)
            if verified is not None:
                return verified, await one.confirm(verified, audiences)
        raise errors.Unauthorized


def _bearer(given: list[bytes]) -> str:
    """The one token that a request's headers have."""
    scheme, _, token = given[0].decode("latin-1").partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        raise errors.Unauthorized
    return token.strip()
