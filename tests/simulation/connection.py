"""One request to the server in process, from the client's side: an answer, or a stream of lines, or a broken connection."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, NamedTuple

import orjson

ROOM = 16
"""Chunks of a stream that lie on the way. The server waits with the next one."""


class Lost(Exception):
    """The server is not there, or was not there any more: nobody knows what became of the request."""


class Answer(NamedTuple):
    """A whole answer."""

    code: int
    body: Any


class Connection:
    """What the client and the server's task for this request share. One that is direct takes answers and news past ASGI."""

    def __init__(self, method: str, path: str, query: str, body: Any, media: str, *, is_direct: bool) -> None:
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
        self.is_behind = False
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
        self._tell()
        while len(self._chunks) > ROOM and not self._left.done():
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def whole_body(self) -> bytes | None:
        return self._body

    def answer(self, code: int, _: object, body: bytes) -> None:
        self._code, self._is_over = code, True
        self._chunks.append(body)
        self._tell()

    def is_ready(self) -> bool:
        return bool(self._code) and not self._is_over and len(self._chunks) < ROOM and not self._left.done()

    def tell(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._tell()

    # --- the client's side ----------------------------------------------------------------------------------------------

    async def whole(self) -> Answer:
        """The answer, once it is complete. `Lost` if it never will be."""
        while not self._is_over:
            await self._wait()
        return Answer(self._code, orjson.loads(b"".join(self._chunks)))

    async def begin(self) -> int:
        """The code of the answer, as soon as it has begun."""
        while not self._code:
            await self._wait()
        return self._code

    async def lines(self) -> list[bytes]:
        """The next lines of a stream; none at its end."""
        while not self._chunks and not self._is_over:
            await self._wait()
        chunks, self._chunks = self._chunks, []
        _set(self._room)
        return b"".join(chunks).splitlines()

    def leave(self) -> None:
        """The client goes away."""
        _set(self._left)
        _set(self._room)

    def lose(self) -> None:
        """The connection breaks."""
        self._is_lost = True
        self.leave()
        self._tell()

    async def _wait(self) -> None:
        if self._is_lost:
            raise Lost
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def _tell(self) -> None:
        _set(self._news)


def _set(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
