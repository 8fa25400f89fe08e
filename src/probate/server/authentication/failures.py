"""Who shows wrong credentials again and again has to wait, before any more of theirs are looked at.

Each address may fail some times at once, and then as often as one every so often; of IPv6, where anybody has millions of them, each
network of 64 bits. What was recognised before is not held up by that: it is known without being looked at again. So many addresses
are remembered; the others are at no disadvantage.
"""

from __future__ import annotations

import ipaddress

from probate import errors
from probate.clock import Clock
from probate.errors import Details

AT_ONCE = 20
SECONDS_EACH = 0.5
MAX_ADDRESSES = 4_096


class Failures:
    """How often each address has failed, less what time has forgiven."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}  # when all will be forgiven

    def check(self, address: str) -> None:
        """`TooManyRequests` if whoever is there has to wait."""
        until = self._until.get(_place(address))
        if until is None:
            return
        over = until - self._clock.monotonic() - AT_ONCE * SECONDS_EACH
        if over > 0:
            later = Details(retry_after_seconds=max(1, round(over)))
            raise errors.TooManyRequests("too many attempts with wrong credentials, please try again later", later)

    def note(self, address: str) -> None:
        """Whoever is there has failed once more."""
        address, now = _place(address), self._clock.monotonic()
        if address not in self._until and len(self._until) >= MAX_ADDRESSES:
            self._until = {one: until for one, until in self._until.items() if until > now}
            if len(self._until) >= MAX_ADDRESSES:
                self._until.clear()
        self._until[address] = max(self._until.get(address, now), now) + SECONDS_EACH


def _place(address: str) -> str:
    """Where somebody is who has this address."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((found, 64), strict=False))
