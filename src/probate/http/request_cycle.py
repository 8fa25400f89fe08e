"""One request and its answer, and as little around them as can be.

uvicorn serves any application, so it checks what it is given and promises little about when. Both sides are ours here. So an answer
leaves in one write and not in two, its headers are taken as they are, and a body that is there already is not waited for.

An exchange is an ASGI server's side. What it can do besides, it offers as `scope["exchange"]`, and an app that does not know that
need not. The attributes without an underscore are those that uvicorn's connection uses.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Iterable
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

Headers = Iterable[tuple[bytes, bytes]]

LARGE_BYTES = 256 * 1024

log = logging.getLogger(__name__)


class Line(Protocol):
    """The connection that it comes and goes by."""

    transport: asyncio.Transport
    flow: FlowControl
    tasks: set[asyncio.Task[None]]
    expect_100_continue: bool

    def usual_headers(self) -> bytes:
        """Those that every answer has."""
        ...

    def on_response_complete(self) -> None:
        """The answer has been sent."""
        ...

    def close(self) -> None:
        """End the connection when the client has read what it was sent, or reads nothing any more."""
        ...


class Exchange:
    """One request and its answer."""

    __slots__ = (
        "_connection",
        "_expects_word",
        "_has_news",
        "_is_chunked",
        "_transport",
        "_waiter",
        "body",
        "disconnected",
        "keep_alive",
        "more_body",
        "response_complete",
        "response_started",
        "scope",
        "task",
    )

    def __init__(self, connection: Line, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.keep_alive = True
        self.body: bytes | bytearray = bytearray()  # what has come of the request's body and was not taken yet
        self.more_body = True
        self.response_started = False
        self.response_complete = False
        self.disconnected = False
        self._connection = connection
        self._transport = connection.transport
        self._expects_word = connection.expect_100_continue
        self._is_chunked = False
        self._has_news = False
        self._waiter: asyncio.Future[None] | None = None
        self.task: Any = None  # in which the app runs
        scope["exchange"] = self

    @property
    def message_event(self) -> Exchange:
        """What uvicorn's connection sets when something has come."""
        return self

    def set(self) -> None:
        """Something has come: more of the body, or its end, or the end of the connection."""
        self._has_news = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self, body: bytes) -> None:
        """All of the body has come at once."""
        self.body, self.more_body, self._has_news = body, False, True

    async def run_asgi(self, app: Any) -> None:
        """Let the app answer."""
        try:
            if self.is_behind:  # an answer that waits for the client to read the one before it would be memory that nobody counts
                await self.drain()
            if not self.disconnected:
                await app(self.scope, self.receive, self.send)
        except Exception:
            log.exception("an answer could not be sent")
        finally:
            if not self.response_complete and not self.disconnected:
                self._connection.close()
            self._connection.tasks.discard(self.task)
            del self.scope, self.task  # which refer back to it, and would be found by Python's search for garbage only

    def whole_body(self) -> bytes | None:
        """The body, if all of it is there and none was taken."""
        return None if self.more_body else bytes(self.body)

    async def receive(self) -> dict[str, Any]:
        if self._expects_word and not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._expects_word = False
        if not self.disconnected and not self.response_complete:
            self._connection.flow.resume_reading()
            if not self._has_news:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            self._has_news = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, bytearray()
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: dict[str, Any]) -> None:
        if self.is_behind:
            await self.drain()
        if self.disconnected or self.response_complete:
            return
        if not self.response_started:
            self.response_started = True
            headers = message["headers"]
            self._is_chunked = b"content-length" not in dict(headers)
            more = b"transfer-encoding: chunked\r\n" if self._is_chunked else b""
            self._transport.write(self._head(message["status"], lines(headers) + more))
            return
        body = message.get("body", b"")
        if body:
            self._transport.write(_framed(body) if self._is_chunked else body)
        if not message.get("more_body", False):
            if self._is_chunked:
                self._transport.write(b"0\r\n\r\n")
            self._end()

    def is_ready(self) -> bool:
        """Whether a stream has begun and goes on, and the client keeps up with it."""
        is_on = self.response_started and not self.response_complete and not self.disconnected
        return is_on and not self._connection.flow.write_paused

    def tell(self, chunk: bytes) -> None:
        """Send the next piece of a stream, which `is_ready`."""
        self._transport.write(_framed(chunk))

    @property
    def is_behind(self) -> bool:
        """Whether the client has much to read yet of what it was sent before."""
        return self._connection.flow.write_paused and not self.disconnected

    async def drain(self) -> None:
        """Returns when the client has read enough of that."""
        await self._connection.flow.drain()

    def answer(self, status: int, headers: bytes, body: bytes) -> None:
        """The whole answer at once. Its length is among the headers, which are as they go on the wire."""
        if self.disconnected:
            return
        self.response_started = True
        if len(body) > LARGE_BYTES:  # to put it together would be to copy it
            self._transport.write(self._head(status, headers))
            self._transport.write(body)
        else:
            self._transport.write(self._head(status, headers, body))
        self._end()

    def _head(self, status: int, headers: bytes, body: bytes = b"") -> bytes:
        self._expects_word = False
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        return b"".join((STATUS_LINE[status], self._connection.usual_headers(), headers, end, body))

    def _end(self) -> None:
        self.response_complete = self._has_news = True
        if self._waiter is not None:
            self.set()
        if not self.keep_alive:
            self._connection.close()
        self._connection.on_response_complete()


def lines(headers: Headers) -> bytes:
    """Headers as they go on the wire."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


@functools.lru_cache(maxsize=1)
def _framed(body: bytes) -> bytes:
    """A piece of a stream as it goes on the wire. The same one goes to all who watch the same, one after the other."""
    return b"%x\r\n%b\r\n" % (len(body), body)
