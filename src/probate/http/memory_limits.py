"""How much of what clients send, or have not read yet, is held in memory at once.

Each request has limits. Many clients that all stay just within them, slowly, could still take all the memory there is. So there are
limits for all together: small things are always taken, large ones for as long as there is room for them.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from probate.core import errors
from probate.core.errors import Details

SMALL = 16 * 1024
"""What is not counted."""
MAX_BODIES = 256 * 1024 * 1024
MAX_HEADS = 64 * 1024 * 1024
MAX_SELECTORS = 64 * 1024 * 1024
MAX_UNREAD = 256 * 1024 * 1024


class Room:
    """Room for so many bytes of something."""

    def __init__(self, what: str, limit: int) -> None:
        self._what = what
        self._limit = limit
        self.taken = 0

    def take(self, more: int) -> None:
        """`TooManyRequests` if there is not so much."""
        if self.taken + more > self._limit:
            told = f"too many large {self._what} are held at the moment, please try again in a second"
            raise errors.TooManyRequests(told, Details(retry_after_seconds=1))
        self.taken += more


class Share:
    """What one request has of it."""

    __slots__ = ("_room", "_taken")

    def __init__(self, room: Room) -> None:
        self._room = room
        self._taken = 0

    def hold(self, size: int) -> None:
        """It holds so many bytes by now. `TooManyRequests` if there is no room for them."""
        if size > SMALL and size > self._taken:
            self._room.take(size - self._taken)
            self._taken = size

    def drop(self) -> None:
        """It holds nothing any more."""
        if self._taken:
            self._room.taken -= self._taken
            self._taken = 0


class Debtor(Protocol):
    """A client that does not read as fast as it asks."""

    transport: asyncio.Transport


class Debts:
    """What clients have been sent and have not read.

    When that is too much, who has been behind for longest is cut off; those first who have read nothing since they were looked at.
    """

    def __init__(self, limit: int = MAX_UNREAD) -> None:
        self._limit = limit
        self._owed: dict[Debtor, int] = {}  # in the order in which they fell behind
        self._sum = 0

    def owe(self, debtor: Debtor, size: int) -> None:
        """So much is to be read by the client."""
        self.settle(debtor)
        self._owed[debtor] = size
        self._sum += size
        if self._sum > self._limit:
            self._look_again(debtor)
        while self._sum > self._limit and len(self._owed) > 1:
            self._cut_off(next(iter(self._owed)))

    def _look_again(self, newest: Debtor) -> None:
        """Count what clients have read since they fell behind, and cut off those who have read nothing."""
        for one, size in list(self._owed.items()):
            if self._sum <= self._limit or one is newest:
                return
            left = one.transport.get_write_buffer_size()
            if left >= size:
                self._cut_off(one)
            else:
                self._owed[one] = left
                self._sum -= size - left

    def _cut_off(self, debtor: Debtor) -> None:
        self.settle(debtor)
        debtor.transport.abort()

    def settle(self, debtor: Debtor) -> None:
        """It has read almost all, or is gone."""
        self._sum -= self._owed.pop(debtor, 0)
