"""Verifies ID tokens of an OpenID Connect issuer: their signature, audience and validity period.

The issuer's keys are fetched when a token first needs them, again when a token names an unknown key (but not more often than every
`MIN_FETCH_INTERVAL_SECONDS`), and in the background when they are older than `REFRESH_AGE_SECONDS`. One fetch runs at a time. Only
tokens that need its result wait for it: those signed with an unknown key, and all of them if the keys are older than
`MAX_KEY_AGE_SECONDS` and no fetch failed lately. While fetches fail, the old keys stay in use, and no token waits that they verify.
`MAX_WAITING` limits how many requests wait, and how many of them come from one address.

User and group names can be given prefixes. Names that begin with `system:` are never accepted from an issuer, so that no issuer
can make a user a member of `system:masters`.
"""

from __future__ import annotations

import asyncio
import http.client
import logging
import ssl
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from probate.api.rbac.users import AUTHENTICATED, User
from probate.core import errors
from probate.core.aio.offload import Offload
from probate.core.clock import Clock
from probate.core.errors import Details
from probate.core.logs import facts
from probate.http.fair_limit import FairLimit
from probate.http.limit_log import LimitLog
from probate.http.tls import trust
from probate.server.authn import jwt
from probate.server.authn.jwt import Claims, ParsedToken

CLOCK_SKEW_SECONDS = 10.0
"""Seconds by which the issuer's clock may differ from this server's."""
FETCH_TIMEOUT_SECONDS = 5.0
MIN_FETCH_INTERVAL_SECONDS = 10.0
"""Keys are not fetched more often than this, whatever key ids tokens name."""
REFRESH_AGE_SECONDS = 3000.0
"""Keys are fetched again in the background at this age: early enough for some retries before they are outdated."""
MAX_KEY_AGE_SECONDS = 3600.0
UNREACHABLE_SECONDS = 120.0
"""After a fetch has failed, tokens that the old keys verify do not wait for another fetch for so long."""
MAX_WAITING = 100
"""Limits the requests that wait at once for the keys."""
MAX_BYTES = 1024 * 1024
_DISCOVERY = "/.well-known/openid-configuration"
_RESERVED_PREFIX = "system:"

log = logging.getLogger(__name__)


class Issuer(NamedTuple):
    """The issuer to trust, and how its claims become a user. An empty prefix means the default prefix, "-" means none."""

    url: str
    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    ca_file: str = ""


class OidcVerifier:
    """Verifies the tokens of one issuer."""

    def __init__(
        self, issuer: Issuer, clock: Clock, offload: Offload, *, limits: LimitLog | None = None, max_waiting: int = MAX_WAITING
    ) -> None:
        if not issuer.url.startswith("https://") or not issuer.client_id:
            raise errors.CannotOpen("OpenID Connect needs both an issuer with an https:// URL and a client id")
        _check_ca_file(issuer.ca_file)
        self._issuer = issuer
        self._clock = clock
        self._offload = offload
        self._limits = limits or LimitLog(clock)
        self._keys: dict[str, Any] = {}
        self.generation = 0
        """Increases whenever the keys change. A token that was verified with older keys has to be verified again."""
        self._keys_fetched = self._fetch_started = float("-inf")  # the last fetch that succeeded, and the last attempt
        self._fetch_failed = float("-inf")  # when the last fetch failed; infinitely long ago if it succeeded
        self._fetching: asyncio.Task[None] | None = None
        self._waiting = FairLimit(max_waiting, factor=2)

    @property
    def has_outdated_keys(self) -> bool:
        """Whether the keys are so old that they must be fetched again. While fetching fails, the old keys stay in use."""
        return self._clock.monotonic() - self._keys_fetched > MAX_KEY_AGE_SECONDS

    async def authenticate(self, token: ParsedToken, address: str = "") -> User | None:
        """Returns the token's user, or None if the token is not valid. Raises `TooManyRequests` if too many wait for the keys."""
        claims = token.claims
        if claims.get("iss") != self._issuer.url or not self._has_audience(claims.get("aud")) or not self.is_valid_now(claims):
            return None
        if self._needs_fetch(token.key_id):
            if self._key(token.key_id) is not None and self._is_unreachable:
                self._start_fetch()
            else:
                await self._wait_for_keys(address)
        key = self._key(token.key_id)
        return user_of(claims, self._issuer) if key is not None and jwt.is_signed_by(token, key) else None

    def refresh(self) -> None:
        """Starts a fetch in the background if there are keys and they will soon be outdated."""
        if self._keys and self._clock.monotonic() - self._keys_fetched > REFRESH_AGE_SECONDS and self._may_fetch:
            self._start_fetch()

    def is_valid_now(self, claims: Claims) -> bool:
        """Returns whether the current time lies between the token's `nbf` and `exp` claims."""
        now, not_before, expires = self._clock.now(), claims.get("nbf", 0), claims.get("exp")
        if not isinstance(expires, int | float) or not isinstance(not_before, int | float):
            return False
        return bool(not_before - CLOCK_SKEW_SECONDS <= now < expires)

    def _has_audience(self, audience: Any) -> bool:
        return self._issuer.client_id in (audience if isinstance(audience, list) else [audience])

    def _key(self, key_id: str) -> Any | None:
        if key_id:
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    def _needs_fetch(self, key_id: str) -> bool:
        return self._may_fetch and (self.has_outdated_keys or self._key(key_id) is None)

    @property
    def _may_fetch(self) -> bool:
        """Whether a fetch is under way or may begin."""
        return self._fetching is not None or self._clock.monotonic() - self._fetch_started > MIN_FETCH_INTERVAL_SECONDS

    @property
    def _is_unreachable(self) -> bool:
        return self._clock.monotonic() - self._fetch_failed <= UNREACHABLE_SECONDS

    def _start_fetch(self) -> asyncio.Task[None]:
        """Returns the fetch under way, or starts one."""
        if self._fetching is None:
            self._fetching = asyncio.get_running_loop().create_task(self._fetch(), name="oidc-keys")
        return self._fetching

    async def _wait_for_keys(self, address: str) -> None:
        """Waits for the fetch under way, or for a new one. Raises `TooManyRequests` if too many requests wait already."""
        if not self._waiting.can_take(address):
            self._limits.record("waiting for OpenID Connect keys", address=address, of=self._waiting.limit)
            message = "too many requests wait for the keys of the OpenID Connect issuer, please try again in a second"
            raise errors.TooManyRequests(message, Details(retry_after_seconds=1))
        self._waiting.take(address)
        try:
            await asyncio.shield(self._start_fetch())  # a request that is cancelled does not cancel the fetch for the others
        finally:
            self._waiting.release(address)

    async def _fetch(self) -> None:
        self._fetch_started = started = self._clock.monotonic()
        try:
            keys = await self._offload.run(lambda: fetch_keys(self._issuer))
        except (OSError, ValueError, http.client.HTTPException) as error:  # urllib raises one of these
            self._fetch_failed = self._clock.monotonic()
            log.warning("cannot fetch keys of OpenID Connect issuer", extra=facts(issuer=self._issuer.url, error=str(error)))
        else:
            self._fetch_failed = float("-inf")
            self._keys_fetched = started  # the issuer may have withdrawn one of these keys since then
            if keys != self._keys:
                self._keys = keys
                self.generation += 1
        finally:
            self._fetching = None


def _check_ca_file(file: str) -> None:
    """Raises `CannotOpen` if the file cannot be used: it is better to fail at startup than at the first token."""
    try:
        if file:
            ssl.create_default_context(cafile=file)
    except OSError as error:  # includes ssl.SSLError
        raise errors.CannotOpen(
            f"--oidc-ca-file {file} cannot be used: {error.strerror or error}. Give a readable file with certificates in PEM format"
        ) from error


def fetch_keys(issuer: Issuer) -> dict[str, Any]:
    """Returns the keys that an issuer publishes, by key id. Blocks."""
    context = trust.client_context(_bundle(issuer))
    discovery = _get(issuer.url.rstrip("/") + _DISCOVERY, context)
    jwks_uri = discovery.get("jwks_uri")
    if discovery.get("issuer") != issuer.url or not isinstance(jwks_uri, str) or not jwks_uri.startswith("https://"):
        raise ValueError("its discovery document does not match the issuer URL, or names no https:// jwks_uri")
    jwks = _get(jwks_uri, context).get("keys")
    if not isinstance(jwks, list):
        raise ValueError(f"{jwks_uri} does not answer with a list of keys")  # noqa: TRY004 handled like any other useless response
    keys = {str(jwk.get("kid", "")): jwt.from_jwk(jwk) for jwk in jwks if isinstance(jwk, dict)}
    return {key_id: key for key_id, key in keys.items() if key is not None}


def _bundle(issuer: Issuer) -> str:
    return Path(issuer.ca_file).read_text("utf-8", "replace") if issuer.ca_file else ""


def _get(url: str, context: ssl.SSLContext) -> Claims:
    with urllib.request.urlopen(url, timeout=FETCH_TIMEOUT_SECONDS, context=context) as response:  # noqa: S310 it begins with https://
        document = orjson.loads(response.read(MAX_BYTES))
    if not isinstance(document, dict):
        raise ValueError(f"{url} does not answer with an object")  # noqa: TRY004 handled like any other useless response
    return document


def user_of(claims: Claims, issuer: Issuer) -> User | None:
    """Returns the user that the claims describe, or None if they name no user, an unverified email address or a reserved name."""
    name = claims.get(issuer.username_claim)
    if not isinstance(name, str) or not name:
        return None
    if issuer.username_claim == "email" and claims.get("email_verified", True) is not True:
        return None
    default_prefix = "" if issuer.username_claim == "email" else f"{issuer.url}#"
    name = _prefix(issuer.username_prefix, default_prefix) + name
    if name.startswith(_RESERVED_PREFIX):
        return None
    groups = [_prefix(issuer.groups_prefix, "") + group for group in _groups(claims, issuer)]
    allowed = [group for group in groups if not group.startswith(_RESERVED_PREFIX)]
    return User(name, tuple(dict.fromkeys([*allowed, AUTHENTICATED])))


def _prefix(prefix: str, default: str) -> str:
    return "" if prefix == "-" else prefix or default


def _groups(claims: Claims, issuer: Issuer) -> list[str]:
    claim = claims.get(issuer.groups_claim) if issuer.groups_claim else None
    listed = [claim] if isinstance(claim, str) else claim
    return [group for group in listed if isinstance(group, str) and group] if isinstance(listed, list) else []
