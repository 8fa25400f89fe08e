"""What the token authenticators share: bearer tokens, verified tokens and the cache of them.

There is one authenticator for each kind of token (token file, service account, OpenID Connect), each with its own cache. A verified
token carries the authenticator that verified it, and only that one decides whether the token is valid now. So no cache can turn one
kind of token into another, whatever is evicted or reloaded during a lookup: the result of a lookup is passed on, never looked up
again.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import NamedTuple, Protocol

from probate.api.rbac.users import User
from probate.server.authn import jwt
from probate.server.authn.jwt import Claims, ParsedToken
from probate.server.authn.service_accounts import TokenBindings
from probate.server.authn.token_authenticator import AuthenticatedToken

MAX_TOKENS = 4_000
"""Limits the tokens in one authenticator's cache."""


class BearerToken:
    """A bearer token that is not verified yet, and the address of the client that sent it (empty in a TokenReview)."""

    def __init__(self, token: str, address: str = "") -> None:
        self.address = address
        self.digest = hashlib.sha256(_bytes(token)).hexdigest()
        self._token = token

    @cached_property
    def parsed(self) -> ParsedToken | None:
        """The parts of the token, or None if it is not a JWT."""
        return jwt.parse(self._token)


def _bytes(token: str) -> bytes:
    """Returns the bytes that a header would have. A TokenReview may hold any text, and no two texts may map to the same bytes."""
    try:
        return token.encode("latin-1")
    except UnicodeEncodeError:
        return token.encode("utf-8", "surrogatepass")


class VerifiedToken(NamedTuple):
    """A token that its authenticator has verified, with what that authenticator needs to check that it is still valid."""

    authenticator: TokenAuthenticator
    user: User
    generation: int = 0
    """The generation of the file or of the keys that verified the token."""
    not_before: float = float("-inf")
    expires: float = float("inf")
    claims: Claims = {}  # noqa: RUF012 never modified
    bindings: TokenBindings | None = None


class TokenAuthenticator(Protocol):
    """Authenticates one kind of token."""

    async def verify(self, token: BearerToken) -> VerifiedToken | None:
        """Returns the verified token, or None if it is not of this kind or not valid."""
        ...

    def is_current(self, verified: VerifiedToken, now: float) -> bool:
        """Returns whether a verified token is known to be valid now. Never awaits; False means that `confirm` has to decide."""
        ...

    async def confirm(self, verified: VerifiedToken, audiences: tuple[str, ...]) -> AuthenticatedToken:
        """Returns the token's user if it is valid now and for these audiences. Raises `Unauthorized` otherwise."""
        ...

    def evict(self) -> None:
        """Empties the cache."""
        ...


class TokenCache:
    """The tokens that one authenticator has verified, by digest. A full cache is emptied."""

    def __init__(self) -> None:
        self._tokens: dict[str, VerifiedToken] = {}

    def get(self, digest: str, generation: int = 0) -> VerifiedToken | None:
        """Returns the token if it was verified in this generation of keys or file. Earlier ones do not count."""
        token = self._tokens.get(digest)
        return token if token is not None and token.generation == generation else None

    def put(self, digest: str, verified: VerifiedToken) -> None:
        """Adds a token."""
        if len(self._tokens) >= MAX_TOKENS:
            self._tokens.clear()
        self._tokens[digest] = verified

    def evict(self) -> None:
        """Removes all tokens."""
        self._tokens.clear()
