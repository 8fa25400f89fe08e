"""uvicorn's connection, with exchanges of our own: one request and its answer, and as little around them as can be.

uvicorn serves any application, so it checks what it is given and promises little about when. Both sides are ours here. So an answer
leaves in one write and not in two, its headers are taken as they are, a body that is there already is not waited for, and one
timer looks from time to time for how long a client has been idle, where each answer set one that the next request cancelled.

An exchange is an ASGI server's side. What it can do besides, it offers as `scope["exchange"]`, and an app that does not know that
need not. The attributes without an underscore are those that uvicorn's connection uses.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import urllib.parse
from collections.abc import Iterable
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from probate import errors
from probate.aio import turns
from probate.server.authentication import peers

Headers = Iterable[tuple[bytes, bytes]]

LARGE_BYTES = 256 * 1024
MAX_WAITING = 50
"""Requests of one connection that wait for the one before them. (Hardly any client sends one before the last is answered.)"""

log = logging.getLogger(__name__)


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

    def __init__(self, connection: Frugal, scope: dict[str, Any], *, keep_alive: bool) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.body = bytearray()  # what has come of the request's body and was not taken yet
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

    async def run_asgi(self, app: Any) -> None:
        """Let the app answer."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:
            log.exception("an answer could not be sent")
        finally:
            if not self.response_complete and not self.disconnected:
                self._transport.close()
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
            await self._connection.flow.drain()
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

    async def answer(self, status: int, headers: bytes, body: bytes) -> None:
        """The whole answer at once. Its length is among the headers, which are as they go on the wire."""
        flow = self._connection.flow
        if flow.write_paused and not self.disconnected:
            await flow.drain()
        if self.disconnected:
            return
        self.response_started = True
        if len(body) > LARGE_BYTES:  # to put it together would be to copy it
            self._transport.write(self._head(status, headers))
            self._transport.write(body)
        else:
            self._transport.write(self._head(status, headers) + body)
        self._end()

    def _head(self, status: int, headers: bytes) -> bytes:
        self._expects_word = False
        close = b"" if self.keep_alive else b"connection: close\r\n"
        return b"%b%b%b%b\r\n" % (STATUS_LINE[status], self._connection.usual_headers(), headers, close)

    def _end(self) -> None:
        self.response_complete = True
        self.set()
        if not self.keep_alive:
            self._transport.close()
        self._connection.on_response_complete()


def lines(headers: Headers) -> bytes:
    """Headers as they go on the wire."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


class Frugal(HttpToolsProtocol):
    """One client's connection."""

    _idle_since: float | None = None  # when the last answer was complete, if nothing has come since
    _usual: tuple[Any, bytes] = (None, b"")

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._turns = turns.of_loop()
        secured = transport.get_extra_info("ssl_object")
        self.peer = None if secured is None else peers.shown_by(secured)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_headers_complete(self) -> None:
        parser = self.parser
        version = parser.get_http_version()
        raw, query = _target(self.url)
        path = raw.decode("ascii")
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "scheme": self.scheme,
            "path": urllib.parse.unquote(path) if "%" in path else path,
            "raw_path": raw,
            "query_string": query,
            "headers": self.headers,
            "client": self.client,
            "server": self.server,
            "peer": self.peer,  # whom the client's certificate is of, if it has shown one
        }
        if b"watch=" not in query:  # who watches waits for what happens, and not for an answer
            self._turns.note_request()
        before: Any = self.cycle
        exchange: Any = Exchange(self, scope, keep_alive=version != "1.0" and parser.should_keep_alive())
        self.cycle, self.headers = exchange, []  # which are the exchange's to keep, or to forget
        if before is None or before.response_complete:
            self._start_asgi_task(exchange, self.app)
        else:  # it was sent before the one before it was answered
            if len(self.pipeline) >= MAX_WAITING:
                raise errors.TooManyRequests(f"over {MAX_WAITING} requests were sent on one connection before any was answered")
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self.app))

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.task = self.loop.create_task(cycle.run_asgi(app))
        self.tasks.add(cycle.task)

    def on_body(self, body: bytes) -> None:
        exchange: Any = self.cycle
        if exchange.response_complete:
            return
        exchange.body += body
        if len(exchange.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        exchange.set()

    def on_message_complete(self) -> None:
        exchange: Any = self.cycle
        if not exchange.response_complete:
            exchange.more_body = False
            exchange.set()

    def usual_headers(self) -> bytes:
        """Those that uvicorn gives every answer: the date. It makes them anew each second."""
        given = self.server_state.default_headers
        if self._usual[0] is not given:
            self._usual = given, lines(given)
        return self._usual[1]

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:  # no more is read before all of these are answered, but for the body of the one that is next
            self._start_asgi_task(*self.pipeline.pop())
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        self._be_idle()

    def _be_idle(self) -> None:
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again_in(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return  # the next answer sets the timer again
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_again_in(left)
        elif not self.transport.is_closing():
            self.transport.close()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None  # (whatever comes does the same)

    def _look_again_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


@functools.lru_cache(maxsize=1)
def _framed(body: bytes) -> bytes:
    """A piece of a stream as it goes on the wire. The same one goes to all who watch the same, one after the other."""
    return b"%x\r\n%b\r\n" % (len(body), body)


_ASGI = {"version": "3.0", "spec_version": "2.3"}


def _target(url: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request."""
    if url.startswith(b"/") and b"#" not in url:
        path, _, query = url.partition(b"?")
        return path, query
    parsed = httptools.parse_url(url)
    return parsed.path or b"/", parsed.query or b""
