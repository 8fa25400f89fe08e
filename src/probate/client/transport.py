"""How a request gets to an API server: the seam between what clients say and who carries it.

In the server's own process, `server.local_transport` calls the server directly; elsewhere, requests go over HTTP. Neither side
can tell the difference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

Reply: TypeAlias = tuple[int, bytes]
"""A whole answer: its code and its body."""


class Transport(Protocol):
    """Carries requests. `StoreUnavailable` if nobody answers: then it may or may not have been done."""

    async def send(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> Reply:
        """One request, one answer."""
        ...

    def stream(self, path: str, query: Mapping[str, str]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose answer goes on, line by line. An `ApiError` if it is refused."""
        ...
