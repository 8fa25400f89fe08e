"""uvicorn's connection, with exchanges of our own.

One timer looks from time to time for how long a client has been idle, where each answer of uvicorn's sets one that the next request
cancels. A request that comes in one piece, and says of itself what others have said, is not parsed (`heads`).
"""

from __future__ import annotations

import asyncio
import urllib.parse
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from probate.core import errors
from probate.core.aio import time_slices
from probate.http.header_cache import Known, Whole
from probate.http.request_cycle import Exchange, lines
from probate.http.tls import client_certificates

MAX_WAITING = 50
"""Requests of one connection that wait for the one before them. (Hardly any client sends one before the last is answered.)"""


class Frugal(HttpToolsProtocol):
    """One client's connection."""

    _idle_since: float | None = None  # when the last answer was complete, if nothing has come since
    _usual: tuple[Any, bytes] = (None, b"")
    _answering: Any = None  # the exchange that is under way; `cycle` is the last one that came

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._turns = time_slices.of_loop()
        secured = transport.get_extra_info("ssl_object")
        self.peer = None if secured is None else client_certificates.shown_by(secured)

    def connection_lost(self, exc: Exception | None) -> None:
        for one in (self._answering, *(exchange for exchange, _ in self.pipeline)):
            if one is not None and not one.response_complete:
                one.disconnected = True
                one.set()
        self.pipeline.clear()
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_headers_complete(self) -> None:
        parser = self.parser
        version, method = parser.get_http_version(), parser.get_method().decode("ascii")
        raw, query = _target(self.url)
        path = raw.decode("ascii")
        before: Any = self.cycle
        exchange = self._exchange(method, urllib.parse.unquote(path) if "%" in path else path, raw, query, version=version)
        exchange.keep_alive = version != "1.0" and parser.should_keep_alive()
        self.headers = []  # those of before are the exchange's to keep, or to forget
        if before is None or before.response_complete:
            self._start_asgi_task(exchange, self.app)
        else:  # it was sent before the one before it was answered
            if len(self.pipeline) >= MAX_WAITING:
                raise errors.TooManyRequests(f"over {MAX_WAITING} requests were sent on one connection before any was answered")
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self.app))

    def begin(self, whole: Whole) -> None:
        """Answer a request that was not parsed. Only while no other one is being answered."""
        self.expect_100_continue = False
        method, path, query, known, body = whole
        exchange = self._exchange(method.decode(), path.decode(), path, query, known=known)
        exchange.take(body)
        self._start_asgi_task(exchange, self.app)

    def _exchange(
        self, method: str, path: str, raw: bytes, query: bytes, *, version: str = "1.1", known: Known | None = None
    ) -> Any:
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "method": method,
            "scheme": self.scheme,
            "path": path,
            "raw_path": raw,
            "query_string": query,
            "headers": self.headers if known is None else known.headers,
            "known": known,
            "client": self.client,
            "server": self.server,
            "peer": self.peer,  # whom the client's certificate is of, if it has shown one
        }
        if b"watch=" not in query:  # who watches waits for what happens, and not for an answer
            self._turns.note_request()
        exchange: Any = Exchange(self, scope)
        self.cycle = exchange
        return exchange

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answering = cycle
        cycle.task = asyncio.Task(cycle.run_asgi(app), loop=self.loop, name="request")  # (to number it takes as long as to make it)
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
        else:
            self.close()

    def close(self) -> None:
        """End the connection."""
        self.transport.close()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None  # (whatever comes does the same)

    def _look_again_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


_ASGI = {"version": "3.0", "spec_version": "2.3"}


def _target(url: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request."""
    if url.startswith(b"/") and b"#" not in url:
        path, _, query = url.partition(b"?")
        return path, query
    parsed = httptools.parse_url(url)
    return parsed.path or b"/", parsed.query or b""
