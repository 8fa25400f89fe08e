"""Limits how many of something exist at once, and how many of these one holder (a user, an address) has.

A fixed quota for each holder either wastes what no other holder uses, or lets a few holders take everything. So the quota depends
on what is free: one holder has at most `factor` times as many as are free. With a factor of 2 a single holder gets two thirds, two
holders get two fifths each, and for any number of holders the next one still finds something free.
"""

from __future__ import annotations


class FairLimit:
    """At most `limit` at once, shared between holders."""

    def __init__(self, limit: int, *, factor: int) -> None:
        self.limit = limit
        self.total = 0
        self._factor = factor
        self._counts: dict[str, int] = {}

    def can_take(self, holder: str) -> bool:
        """Whether the holder may have one more."""
        free = self.limit - self.total
        return free > 0 and self._counts.get(holder, 0) < self._factor * free

    def count(self, holder: str) -> int:
        """Returns how many the holder has."""
        return self._counts.get(holder, 0)

    def take(self, holder: str) -> None:
        """Adds one to the holder's count, whether or not `can_take` allows it."""
        self.total += 1
        self._counts[holder] = self._counts.get(holder, 0) + 1

    def release(self, holder: str) -> None:
        """Subtracts one from the holder's count. A holder with none left takes no memory."""
        self.total -= 1
        remaining = self._counts.pop(holder) - 1
        if remaining:
            self._counts[holder] = remaining
