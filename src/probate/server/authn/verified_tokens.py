"""What authenticators have in common: a token as it was shown, and what is known of one that was verified.

There is one authenticator for each kind of token (listed in a file, of a service account, of an OpenID Connect issuer), each with a
cache of its own. A verified token carries the authenticator that verified it, and that one alone decides whether it is good now.
So no cache can turn one kind of token into another, whatever is evicted or reloaded while a token is looked up: the result of a
look-up is handed on, never looked up again.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import NamedTuple, Protocol

from probate.api.rbac.users import User
from probate.server.authn import jwt
from probate.server.authn.jwt import Claims, Parsed
from probate.server.authn.service_accounts import Ties
from probate.server.context import Recognised

MAX_TOKENS = 4_000
"""Tokens that one authenticator remembers."""


class ShownToken:
    """A bearer token that nothing is known of yet, and the address of whoever shows it (empty in a TokenReview)."""

    def __init__(self, token: str, address: str = "") -> None:
        self.address = address
        self.digest = hashlib.sha256(_bytes(token)).hexdigest()
        self._token = token

    @cached_property
    def parsed(self) -> Parsed | None:
        """Its parts, if it is a JWT."""
        return jwt.parse(self._token)


def _bytes(token: str) -> bytes:
    """What a header would have. A TokenReview may have any text: no character of it may count as another, such as "?"."""
    try:
        return token.encode("latin-1")
    except UnicodeEncodeError:
        return token.encode("utf-8", "surrogatepass")


class VerifiedToken(NamedTuple):
    """A token that its authenticator has verified, with what that authenticator needs to see whether it is still good."""

    authenticator: Authenticator
    user: User
    generation: int = 0
    """Of what it was verified with: the file as it was read, the keys as they were fetched."""
    begins: float = float("-inf")
    ends: float = float("inf")
    claims: Claims = {}  # noqa: RUF012 nobody changes it
    ties: Ties | None = None


class Authenticator(Protocol):
    """Recognises one kind of token."""

    async def verify(self, shown: ShownToken) -> VerifiedToken | None:
        """What is known of the token; None if it is not of this kind, or not to be believed."""
        ...

    def is_current(self, verified: VerifiedToken, now: float) -> bool:
        """Whether a token that was good is good now, as far as that can be told without asking anybody."""
        ...

    async def confirm(self, verified: VerifiedToken, audiences: tuple[str, ...]) -> Recognised:
        """Whose the token is, if it is good now and for these audiences. `Unauthorized` if it is not."""
        ...

    def evict(self) -> None:
        """Empty the cache."""
        ...


class TokenCache:
    """Tokens that one authenticator has verified, by their digest. When it is full, it is emptied."""

    def __init__(self) -> None:
        self._found: dict[str, VerifiedToken] = {}

    def get(self, digest: str, generation: int = 0) -> VerifiedToken | None:
        """What was verified with what is in use now. (What was verified with what was in use before is no answer.)"""
        found = self._found.get(digest)
        return found if found is not None and found.generation == generation else None

    def put(self, digest: str, verified: VerifiedToken) -> None:
        """Remember a token."""
        if len(self._found) >= MAX_TOKENS:
            self._found.clear()
        self._found[digest] = verified

    def evict(self) -> None:
        """Forget all tokens."""
        self._found.clear()
