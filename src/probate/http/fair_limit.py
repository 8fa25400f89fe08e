"""Limits how many of something there are at once, and how many of these one holder (a user, an address) has.

A fixed quota for each holder either wastes what nobody else wants, or lets a few holders take everything. So the quota follows what
is free: one holder has at most `factor` times as many as are free. With a factor of 2 a holder that is alone takes two thirds, two
take two fifths each, and however many there are, the next one finds something free.
"""

from __future__ import annotations


class FairLimit:
    """At most `limit` at once, shared between holders."""

    def __init__(self, limit: int, *, factor: int) -> None:
        self.limit = limit
        self.total = 0
        self._factor = factor
        self._held: dict[str, int] = {}

    def admits(self, holder: str) -> bool:
        """Whether the holder may have one more."""
        free = self.limit - self.total
        return free > 0 and self._held.get(holder, 0) < self._factor * free

    def held_by(self, holder: str) -> int:
        """How many the holder has."""
        return self._held.get(holder, 0)

    def take(self, holder: str) -> None:
        """The holder has one more, whether or not it is admitted."""
        self.total += 1
        self._held[holder] = self._held.get(holder, 0) + 1

    def release(self, holder: str) -> None:
        """The holder gives one back. Whoever has none is forgotten."""
        self.total -= 1
        left = self._held.pop(holder) - 1
        if left:
            self._held[holder] = left
