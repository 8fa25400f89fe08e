"""How requests reach an API server: the interface between the client and what carries its requests.

`server.local_transport` implements it: it calls the server in its own process, on the same path as a request over HTTP. Commands
reach a running server with `client.http_client`, which blocks and does not implement this interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

Reply: TypeAlias = tuple[int, bytes]
"""A complete response: its status code and its body."""


class Transport(Protocol):
    """Carries requests. Raises `StoreUnavailable` if the server does not answer: the request may or may not have been processed."""

    async def send(self, method: str, path: str, *, query: Mapping[str, str], body: bytes, media: str) -> Reply:
        """Sends one request and returns its response. `media` is the media type of the body."""
        ...

    def stream(self, path: str, query: Mapping[str, str]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Sends a GET whose response is a stream of lines. Raises an `ApiError` if the server refuses it."""
        ...
