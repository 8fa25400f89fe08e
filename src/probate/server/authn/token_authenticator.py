"""TokenAuthenticator: what TokenReviews need from authentication, and its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from probate.api.rbac.users import User
from probate.core import errors


class AuthenticatedToken(NamedTuple):
    """The user that a bearer token identifies, and the audiences that the token is limited to (empty: not limited)."""

    user: User
    audiences: tuple[str, ...] = ()


TokenAuthenticator: TypeAlias = Callable[[str, tuple[str, ...]], Awaitable[AuthenticatedToken]]
"""Authenticates a token for one of these audiences (none: for the server itself). Raises `Unauthorized` if it is invalid."""


async def reject_all_tokens(_token: str, _audiences: tuple[str, ...]) -> AuthenticatedToken:
    """The authenticator of a server that knows no tokens."""
    raise errors.Unauthorized
