"""One request to the in-process server: a response, a stream of lines, or a broken connection."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, NamedTuple

import orjson

MAX_IN_FLIGHT = 16
"""Chunks of a stream that the client has not read; the server waits before it sends more."""


class Lost(Exception):
    """The server is down, or went down: the outcome of the request is unknown."""


class Answer(NamedTuple):
    """A whole response."""

    code: int
    body: Any


class Connection:
    """What the client and the server's task for this request share.

    A direct one receives responses and watch events without ASGI.
    """

    def __init__(self, method: str, path: str, query: str, *, body: Any, media: str, is_direct: bool) -> None:
        headers = [(b"content-type", media.encode())]
        self.scope: MutableMapping[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
            "exchange": self if is_direct else None,
        }
        loop = asyncio.get_running_loop()
        self.task: asyncio.Task[Any] | None = None  # the server's, for this request
        self.is_write_paused = False
        self._body: bytes | None = b"" if body is None else orjson.dumps(body)
        self._left: asyncio.Future[None] = loop.create_future()
        self._code = 0
        self._chunks: list[bytes] = []
        self._news: asyncio.Future[None] = loop.create_future()
        self._room: asyncio.Future[None] | None = None
        self._is_over = False
        self._is_lost = False

    # --- the server's side ----------------------------------------------------------------------------------------------

    async def receive(self) -> MutableMapping[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body}
        await asyncio.shield(self._left)
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._code = message["status"]
        else:
            if message["body"]:
                self._chunks.append(message["body"])
            self._is_over = not message.get("more_body", False)
        self._notify()
        while len(self._chunks) > MAX_IN_FLIGHT and not self._left.done():
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def complete_body(self) -> bytes | None:
        return self._body

    def respond(self, code: int, _: object, body: bytes) -> None:
        self._code, self._is_over = code, True
        self._chunks.append(body)
        self._notify()

    def is_ready(self) -> bool:
        return bool(self._code) and not self._is_over and len(self._chunks) < MAX_IN_FLIGHT and not self._left.done()

    def tell(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._notify()

    # --- the client's side ----------------------------------------------------------------------------------------------

    async def whole(self) -> Answer:
        """Returns the response once it is complete. Raises `Lost` if it never will be."""
        while not self._is_over:
            await self._wait()
        return Answer(self._code, orjson.loads(b"".join(self._chunks)))

    async def begin(self) -> int:
        """Returns the status code as soon as the response has begun."""
        while not self._code:
            await self._wait()
        return self._code

    async def lines(self) -> list[bytes]:
        """Returns the next lines of a stream; none at its end."""
        while not self._chunks and not self._is_over:
            await self._wait()
        chunks, self._chunks = self._chunks, []
        _set(self._room)
        return b"".join(chunks).splitlines()

    def leave(self) -> None:
        """Closes the connection from the client's side."""
        _set(self._left)
        _set(self._room)

    def lose(self) -> None:
        """Breaks the connection."""
        self._is_lost = True
        self.leave()
        self._notify()

    async def _wait(self) -> None:
        if self._is_lost:
            raise Lost
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def _notify(self) -> None:
        _set(self._news)


def _set(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
