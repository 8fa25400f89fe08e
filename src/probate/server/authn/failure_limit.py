"""Answers repeated wrong credentials with 429 instead of 401, so that clients slow down.

Only wrong credentials are limited, and only for seconds. A valid credential is always accepted, wherever it comes from: verifying a
signature costs about as much as answering any request, and a client must not suffer from what others send from its address.

Two counters are kept. Each credential counts its own failures: a client that loops with an expired token is told to wait, while its
neighbours behind the same address are not. Each address counts how many different credentials have failed there, which detects
guessing. (IPv6 clients can have millions of addresses, so there each /64 network counts.) Both counters allow a burst, and then one
failure every `SECONDS_PER_FAILURE`. At most `MAX_TRACKED` of each are tracked; the others are not limited.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Hashable

from probate.core import errors
from probate.core.clock import Clock
from probate.core.errors import Details
from probate.http.limit_log import LimitLog

BURST = 20
SECONDS_PER_FAILURE = 0.5
MAX_RETRY_AFTER_SECONDS = 5.0
"""The longest wait that a response states, however often the client has failed."""
DELAY_SECONDS = 1.0
"""The minimum delay of a 429, to slow down clients that ignore Retry-After."""
SPACING_SECONDS = 0.003
"""The minimum time between two delayed 429s. Without it, clients that were refused together would retry together, again and again,
and the requests of others would wait behind all of them."""
MAX_DELAY_SECONDS = 5.0
MAX_TRACKED = 4_096


class FailureLimiter:
    """Counts the failures of credentials and addresses. Each counter decays with time."""

    def __init__(self, clock: Clock, limits: LimitLog) -> None:
        self._clock = clock
        self._limits = limits
        self._credentials: dict[Hashable, float] = {}  # when the counter reaches zero, by a hash with a key of this process
        self._addresses: dict[Hashable, float] = {}
        self._last_answer = 0.0

    def record(self, address: str, credential: bytes) -> errors.ApiError:
        """Counts one failure. Returns the error to answer: `Unauthorized`, or `TooManyRequests` if there were too many."""
        network, now = _network(address), self._clock.monotonic()
        key = hash((network, credential))
        if self._credentials.get(key, now) <= now:  # this credential's first failure in a while, so the address counts it too
            _count(self._addresses, network, now)
        _count(self._credentials, key, now)
        excess = max(self._credentials[key], self._addresses.get(network, now)) - now - BURST * SECONDS_PER_FAILURE
        if excess <= 0:
            return errors.Unauthorized()
        self._limits.record("wrong credentials", address=network)
        seconds = max(1, min(math.ceil(excess), math.ceil(MAX_RETRY_AFTER_SECONDS)))  # sums of floats are not exact
        return errors.TooManyRequests(
            "too many attempts with wrong credentials, please try again later", Details(retry_after_seconds=seconds)
        )

    def delay(self) -> float:
        """Returns for how many seconds to delay the next answer 429."""
        now = self._clock.monotonic()
        self._last_answer = min(max(now + DELAY_SECONDS, self._last_answer + SPACING_SECONDS), now + MAX_DELAY_SECONDS)
        return self._last_answer - now


def _count(counters: dict[Hashable, float], key: Hashable, now: float) -> None:
    if key not in counters and len(counters) >= MAX_TRACKED:
        for expired in [item for item, until in counters.items() if until <= now]:
            del counters[expired]
        if len(counters) >= MAX_TRACKED:
            counters.clear()
    until = max(counters.get(key, now), now) + SECONDS_PER_FAILURE
    counters[key] = min(until, now + BURST * SECONDS_PER_FAILURE + MAX_RETRY_AFTER_SECONDS)


def _network(address: str) -> str:
    """Returns the network that counts as one client: the /64 of an IPv6 address, or an IPv4 address itself."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((parsed, 64), strict=False))
