"""Limits the memory that holds clients' requests and unread responses, over all connections.

Each request has limits of its own. Many clients that stay just within them, slowly, could still use up all memory. So there are
limits for all clients together: small requests are always accepted, large ones only while the budget has room.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from probate.core import errors
from probate.core.errors import Details

UNCOUNTED_BYTES = 16 * 1024
"""Size up to which a request does not count."""
MAX_BODIES_MEMORY = 256 * 1024 * 1024
MAX_HEADERS_MEMORY = 64 * 1024 * 1024
MAX_SELECTORS_MEMORY = 64 * 1024 * 1024
MAX_UNREAD_MEMORY = 256 * 1024 * 1024
PARTS = 8
"""A part of a budget is the eighth."""


class MemoryBudget:
    """At most `limit` bytes for one purpose. `purpose` is a plural noun that clients read in the error message.

    A part of a budget is one with a lower limit, and what it uses counts for the whole one too.
    """

    def __init__(self, purpose: str, limit: int, *, whole: MemoryBudget | None = None) -> None:
        self._purpose = purpose
        self._limit = limit
        self._whole = whole
        self.used = 0

    def part(self) -> MemoryBudget:
        """Returns a part for one of several groups of clients, so that no group can use up everything."""
        return MemoryBudget(self._purpose, self._limit // PARTS, whole=self)

    def take(self, size: int) -> None:
        """Counts `size` more bytes. Raises `TooManyRequests` if the budget has no room for them."""
        if self.used + size > self._limit:
            message = f"too many large {self._purpose} are held at the moment, please try again in a second"
            raise errors.TooManyRequests(message, Details(retry_after_seconds=1))
        if self._whole is not None:
            self._whole.take(size)
        self.used += size

    def give_back(self, size: int) -> None:
        """Counts `size` fewer bytes."""
        if self._whole is not None:
            self._whole.give_back(size)
        self.used -= size


class MemoryShare:
    """What one request uses of a budget."""

    __slots__ = ("_budget", "_used")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._used = 0

    def grow_to(self, size: int) -> None:
        """Counts `size` bytes in all. Raises `TooManyRequests` if the budget has no room for them."""
        if size > UNCOUNTED_BYTES and size > self._used:
            self._budget.take(size - self._used)
            self._used = size

    def release(self) -> None:
        """Gives everything back to the budget."""
        if self._used:
            self._budget.give_back(self._used)
            self._used = 0


class UnreadConnection(Protocol):
    """A connection whose client reads more slowly than it requests."""

    transport: asyncio.Transport


class UnreadResponses:
    """The bytes that clients have been sent and have not read.

    Over the limit, the connections that fell behind first are aborted; before them, those whose clients have read nothing since.
    """

    def __init__(self, limit: int = MAX_UNREAD_MEMORY) -> None:
        self._limit = limit
        self._unread: dict[UnreadConnection, int] = {}  # in the order in which they fell behind
        self._sum = 0

    def add(self, connection: UnreadConnection, size: int) -> None:
        """Records that the client has `size` bytes left to read."""
        self.remove(connection)
        self._unread[connection] = size
        self._sum += size
        if self._sum > self._limit:
            self._abort_stalled(connection)
        while self._sum > self._limit and len(self._unread) > 1:
            self._abort(next(iter(self._unread)))

    def _abort_stalled(self, newest: UnreadConnection) -> None:
        """Updates what each client has left to read, and aborts the connections whose clients have read nothing."""
        for connection, size in list(self._unread.items()):
            if self._sum <= self._limit or connection is newest:
                return
            unread = connection.transport.get_write_buffer_size()
            if unread >= size:
                self._abort(connection)
            else:
                self._unread[connection] = unread
                self._sum -= size - unread

    def _abort(self, connection: UnreadConnection) -> None:
        self.remove(connection)
        connection.transport.abort()

    def remove(self, connection: UnreadConnection) -> None:
        """Forgets a connection: its client has read almost everything, or has disconnected."""
        self._sum -= self._unread.pop(connection, 0)
