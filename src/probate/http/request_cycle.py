"""One request and its response, with as little overhead as possible.

uvicorn serves any ASGI application, so it validates what the application sends and promises little about timing. Probate owns both
sides. So a response leaves in one write instead of two, its headers are sent as they are, and a body that has arrived is not
awaited.

A request cycle is the server side of ASGI. What it offers beyond ASGI is available as `scope["exchange"]`; an app that does not
know that key needs none of it. The attributes without an underscore are those that uvicorn's connection uses.
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
"""Size of a body that is written separately from its headers, which saves a copy."""

log = logging.getLogger(__name__)


class CycleConnection(Protocol):
    """What a request cycle needs from its connection."""

    transport: asyncio.Transport
    flow: FlowControl
    tasks: set[asyncio.Task[None]]
    expect_100_continue: bool

    def default_headers(self) -> bytes:
        """Returns the headers of every response, encoded."""
        ...

    def on_response_complete(self) -> None:
        """Called when the response has been sent."""
        ...

    def close(self) -> None:
        """Closes the connection once the client has read its responses, or has stopped reading."""
        ...


class RequestCycle:
    """One request and its response."""

    __slots__ = (
        "_connection",
        "_expects_100_continue",
        "_has_update",
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

    def __init__(self, connection: CycleConnection, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.keep_alive = True
        self.body: bytes | bytearray = bytearray()  # the part of the request body that has arrived and was not received yet
        self.more_body = True
        self.response_started = False
        self.response_complete = False
        self.disconnected = False
        self._connection = connection
        self._transport = connection.transport
        self._expects_100_continue = connection.expect_100_continue
        self._is_chunked = False
        self._has_update = False
        self._waiter: asyncio.Future[None] | None = None
        self.task: Any = None  # runs the app
        scope["exchange"] = self

    @property
    def message_event(self) -> RequestCycle:
        """The event that uvicorn's connection sets when data arrives: this object's `set`."""
        return self

    def set(self) -> None:
        """Wakes `receive`: more of the body has arrived, or its end, or the connection was closed."""
        self._has_update = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def set_body(self, body: bytes) -> None:
        """Sets the whole body, for a request that arrived at once."""
        self.body, self.more_body, self._has_update = body, False, True

    async def run_asgi(self, app: Any) -> None:
        """Runs the app for this request."""
        try:
            if self.is_write_paused:  # responses that wait behind an unread one would use memory that no limit counts
                await self.drain()
            if not self.disconnected:
                await app(self.scope, self.receive, self.send)
        except Exception:
            log.exception("request cycle failed to send a response")
        finally:
            if not self.response_complete and not self.disconnected:
                self._connection.close()
            self._connection.tasks.discard(self.task)
            del self.scope, self.task  # reference cycles, which only Python's garbage collector would free

    def complete_body(self) -> bytes | None:
        """Returns the body if all of it has arrived and none was received yet."""
        return None if self.more_body else bytes(self.body)

    async def receive(self) -> dict[str, Any]:
        if self._expects_100_continue and not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._expects_100_continue = False
        if not self.disconnected and not self.response_complete:
            self._connection.flow.resume_reading()
            if not self._has_update:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            self._has_update = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, bytearray()
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: dict[str, Any]) -> None:
        if self.is_write_paused:
            await self.drain()
        if self.disconnected or self.response_complete:
            return
        if not self.response_started:
            self.response_started = True
            headers = message["headers"]
            self._is_chunked = b"content-length" not in dict(headers)
            chunked = b"transfer-encoding: chunked\r\n" if self._is_chunked else b""
            self._transport.write(self._encode_response(message["status"], encode_headers(headers) + chunked))
            return
        body = message.get("body", b"")
        if body:
            self._transport.write(_encode_chunk(body) if self._is_chunked else body)
        if not message.get("more_body", False):
            if self._is_chunked:
                self._transport.write(b"0\r\n\r\n")
            self._end()

    def is_ready(self) -> bool:
        """Whether a streamed response is under way and the client keeps up with it."""
        is_streaming = self.response_started and not self.response_complete and not self.disconnected
        return is_streaming and not self._connection.flow.write_paused

    def tell(self, chunk: bytes) -> None:
        """Sends the next chunk of a streamed response. Call it only if `is_ready`."""
        self._transport.write(_encode_chunk(chunk))

    @property
    def is_write_paused(self) -> bool:
        """Whether the client still has much of earlier responses to read."""
        return self._connection.flow.write_paused and not self.disconnected

    async def drain(self) -> None:
        """Blocks until the client has read enough of them."""
        await self._connection.flow.drain()

    def respond(self, status: int, headers: bytes, body: bytes) -> None:
        """Sends a whole response. `headers` are encoded as on the wire and include the content length."""
        if self.disconnected:
            return
        self.response_started = True
        if len(body) > LARGE_BYTES:  # joining them would copy the body
            self._transport.write(self._encode_response(status, headers))
            self._transport.write(body)
        else:
            self._transport.write(self._encode_response(status, headers, body))
        self._end()

    def _encode_response(self, status: int, headers: bytes, body: bytes = b"") -> bytes:
        self._expects_100_continue = False
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        return b"".join((STATUS_LINE[status], self._connection.default_headers(), headers, end, body))

    def _end(self) -> None:
        self.response_complete = self._has_update = True
        if self._waiter is not None:
            self.set()
        if not self.keep_alive:
            self._connection.close()
        self._connection.on_response_complete()


def encode_headers(headers: Headers) -> bytes:
    """Returns headers as they are on the wire."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


@functools.lru_cache(maxsize=1)
def _encode_chunk(body: bytes) -> bytes:
    """Returns a chunk as it is on the wire. Cached: clients that watch the same objects get the same chunk, one after the other."""
    return b"%x\r\n%b\r\n" % (len(body), body)
