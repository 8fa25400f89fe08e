"""Answers 429 instead of 401 to those who show wrong credentials again and again, so that clients slow down.

Only a wrong credential is answered so, and only for seconds. A credential is verified wherever it comes from: checking a signature
takes about as long as answering a request at all, and a good credential must not suffer from what others send from its address.

Two things are counted. Each credential counts its own failures: a client in a loop with an expired token is told to wait, and its
neighbours behind the same address are not. Each address (of IPv6, where anybody has millions of them: each network of 64 bits)
counts how many different credentials have failed there, which is what somebody does who guesses. Both may fail some times at once,
and then once every so often. So many of each are remembered; the others are at no disadvantage.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Hashable

from probate.core import errors
from probate.core.clock import Clock
from probate.core.errors import Details
from probate.http.limit_log import LimitLog

AT_ONCE = 20
SECONDS_EACH = 0.5
MAX_SECONDS = 5.0
"""The longest that anybody is told to wait, however often they have failed."""
MAX_REMEMBERED = 4_096


class Failures:
    """How often credentials and addresses have failed, less what time has forgiven."""

    def __init__(self, clock: Clock, limits: LimitLog) -> None:
        self._clock = clock
        self._limits = limits
        self._credentials: dict[Hashable, float] = {}  # when all will be forgiven, by a hash with a key of this process
        self._addresses: dict[Hashable, float] = {}

    def refusal(self, address: str, credential: bytes) -> errors.ApiError:
        """Count one more failure. Returns what to answer: `Unauthorized`, or `TooManyRequests` if there were too many."""
        place, now = _place(address), self._clock.monotonic()
        key = hash((place, credential))
        if self._credentials.get(key, now) <= now:  # the first time in a while: it counts for the address too
            _count(self._addresses, place, now)
        _count(self._credentials, key, now)
        over = max(self._credentials[key], self._addresses.get(place, now)) - now - AT_ONCE * SECONDS_EACH
        if over <= 0:
            return errors.Unauthorized()
        self._limits.reached("wrong credentials", address=place)
        later = Details(retry_after_seconds=max(1, min(math.ceil(over), math.ceil(MAX_SECONDS))))  # sums of floats are not exact
        return errors.TooManyRequests("too many attempts with wrong credentials, please try again later", later)


def _count(entries: dict[Hashable, float], key: Hashable, now: float) -> None:
    if key not in entries and len(entries) >= MAX_REMEMBERED:
        for one in [one for one, until in entries.items() if until <= now]:
            del entries[one]
        if len(entries) >= MAX_REMEMBERED:
            entries.clear()
    until = max(entries.get(key, now), now) + SECONDS_EACH
    entries[key] = min(until, now + AT_ONCE * SECONDS_EACH + MAX_SECONDS)


def _place(address: str) -> str:
    """Where somebody is who has this address."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((found, 64), strict=False))
