"""Tokens of an issuer elsewhere (OpenID Connect): signed by one of the keys that it publishes, for us, and not over.

Its keys are fetched when they are first needed, again when a token names one that is not known (but not all the time), and when
they are old. One fetch is under way at a time, and only tokens that need its result wait for it: while the keys are not old, a
token signed with a known key is checked at once, however slow the issuer is. So many may wait, and of these so many from one
address.

Names and groups of users may be given prefixes. Those that begin with `system:` are never taken from elsewhere: so nobody becomes a
member of `system:masters` by what they are called.
"""

from __future__ import annotations

import asyncio
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
from probate.http.fair_limit import FairLimit
from probate.http.limit_log import LimitLog
from probate.http.tls import trust
from probate.server.authn import jwt
from probate.server.authn.jwt import Claims, Parsed

LEEWAY = 10.0
"""Seconds by which its clock may differ from ours."""
FETCH_SECONDS = 5.0
AGAIN_SECONDS = 10.0
"""Keys are not fetched more often than that, whatever tokens name."""
OLD_SECONDS = 3600.0
MAX_WAITING = 100
"""Requests that wait at once until keys have been fetched."""
MAX_BYTES = 1024 * 1024
_DISCOVERY = "/.well-known/openid-configuration"
_RESERVED = "system:"

log = logging.getLogger(__name__)


class Issuer(NamedTuple):
    """Whom to believe, and what. An empty prefix is the usual one, "-" is none."""

    url: str
    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    ca_file: str = ""


class Oidc:
    """Believes one issuer."""

    def __init__(
        self, issuer: Issuer, clock: Clock, offload: Offload, *, limits: LimitLog | None = None, max_waiting: int = MAX_WAITING
    ) -> None:
        if not issuer.url.startswith("https://") or not issuer.client_id:
            raise errors.CannotOpen("an issuer of OpenID Connect has an https:// URL, and calls us by a client id: give both")
        _check_authorities(issuer.ca_file)
        self._issuer = issuer
        self._clock = clock
        self._offload = offload
        self._limits = limits or LimitLog(clock)
        self._keys: dict[str, Any] = {}
        self.generation = 0
        """One more whenever the keys have changed: what was verified with others has to be verified again."""
        self._fetched = self._tried = float("-inf")  # when they were fetched last, and when somebody tried to
        self._fetching: asyncio.Task[None] | None = None
        self._waiting = FairLimit(max_waiting, factor=2)

    @property
    def is_outdated(self) -> bool:
        """Whether the keys are so old that they have to be fetched again. While that fails, the old ones are all there is."""
        return self._clock.monotonic() - self._fetched > OLD_SECONDS

    async def recognise(self, parsed: Parsed, address: str = "") -> User | None:
        """Whom the token is of; None if it is not to be believed. `TooManyRequests` if too many wait for the issuer already."""
        claims = parsed.claims
        if claims.get("iss") != self._issuer.url or not self._is_for_us(claims.get("aud")) or not self.is_timely(claims):
            return None
        if self._needs_fetch(parsed.key_id):
            await self._wait_for_keys(address)
        key = self._key(parsed.key_id)
        return user_of(claims, self._issuer) if key is not None and jwt.is_signed_by(parsed, key) else None

    def is_timely(self, claims: Claims) -> bool:
        """Whether the token has begun, and has not ended."""
        now, begins, ends = self._clock.now(), claims.get("nbf", 0), claims.get("exp")
        if not isinstance(ends, int | float) or not isinstance(begins, int | float):
            return False
        return bool(begins - LEEWAY <= now < ends)

    def _is_for_us(self, audience: Any) -> bool:
        return self._issuer.client_id in (audience if isinstance(audience, list) else [audience])

    def _key(self, key_id: str) -> Any | None:
        if key_id:
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    def _needs_fetch(self, key_id: str) -> bool:
        may_wait = self._fetching is not None or self._clock.monotonic() - self._tried > AGAIN_SECONDS
        return may_wait and (self.is_outdated or self._key(key_id) is None)

    async def _wait_for_keys(self, address: str) -> None:
        """Wait for the fetch that is under way, or begin one. `TooManyRequests` if too many wait for it."""
        if not self._waiting.admits(address):
            self._limits.reached("waiting for OpenID Connect keys", address=address, of=self._waiting.limit)
            told = "too many requests wait for the keys of the OpenID Connect issuer, please try again in a second"
            raise errors.TooManyRequests(told, Details(retry_after_seconds=1))
        if self._fetching is None:
            self._fetching = asyncio.get_running_loop().create_task(self._fetch(), name="oidc-keys")
        self._waiting.take(address)
        try:
            await asyncio.shield(self._fetching)  # whoever gives up does not end it for the others
        finally:
            self._waiting.release(address)

    async def _fetch(self) -> None:
        self._tried = began = self._clock.monotonic()
        try:
            found = await self._offload.run(lambda: published(self._issuer))
        except (OSError, ValueError) as error:  # what urllib raises is one of both
            log.warning("the keys of %s could not be fetched: %s", self._issuer.url, error)
        else:
            self._fetched = began  # a key that the issuer withdrew since then may be among them
            if found != self._keys:
                self._keys = found
                self.generation += 1
        finally:
            self._fetching = None


def _check_authorities(file: str) -> None:
    """`CannotOpen` if the file cannot be used: better at the start than when somebody's token is to be checked."""
    try:
        if file:
            ssl.create_default_context(cafile=file)
    except OSError as error:  # ssl.SSLError is one
        raise errors.CannotOpen(
            f"--oidc-ca-file {file} cannot be used: {error.strerror or error}. Give a readable file with certificates in PEM format"
        ) from error


def published(issuer: Issuer) -> dict[str, Any]:
    """The keys that an issuer publishes, by their names. Blocks."""
    context = trust.client_context(_bundle(issuer))
    about = _get(issuer.url.rstrip("/") + _DISCOVERY, context)
    where = about.get("jwks_uri")
    if about.get("issuer") != issuer.url or not isinstance(where, str) or not where.startswith("https://"):
        raise ValueError("what it says of itself does not fit")
    listed = _get(where, context).get("keys")
    keys = {str(one.get("kid", "")): jwt.public_key(one) for one in listed or () if isinstance(one, dict)}
    return {key_id: key for key_id, key in keys.items() if key is not None}


def _bundle(issuer: Issuer) -> str:
    return Path(issuer.ca_file).read_text("utf-8", "replace") if issuer.ca_file else ""


def _get(url: str, context: ssl.SSLContext) -> Claims:
    with urllib.request.urlopen(url, timeout=FETCH_SECONDS, context=context) as answer:  # noqa: S310 it begins with https://
        found = orjson.loads(answer.read(MAX_BYTES))
    if not isinstance(found, dict):
        raise ValueError(f"{url} does not answer with an object")  # noqa: TRY004 to be handled like other answers of no use
    return found


def user_of(claims: Claims, issuer: Issuer) -> User | None:
    """Who the claims say it is; None if they do not say, or may not."""
    name = claims.get(issuer.username_claim)
    if not isinstance(name, str) or not name:
        return None
    if issuer.username_claim == "email" and claims.get("email_verified", True) is not True:
        return None
    usual = "" if issuer.username_claim == "email" else f"{issuer.url}#"
    name = _prefix(issuer.username_prefix, usual) + name
    if name.startswith(_RESERVED):
        return None
    groups = [_prefix(issuer.groups_prefix, "") + group for group in _groups(claims, issuer)]
    kept = [group for group in groups if not group.startswith(_RESERVED)]
    return User(name, tuple(dict.fromkeys([*kept, AUTHENTICATED])))


def _prefix(given: str, usual: str) -> str:
    return "" if given == "-" else given or usual


def _groups(claims: Claims, issuer: Issuer) -> list[str]:
    found = claims.get(issuer.groups_claim) if issuer.groups_claim else None
    listed = [found] if isinstance(found, str) else found
    return [one for one in listed if isinstance(one, str) and one] if isinstance(listed, list) else []
