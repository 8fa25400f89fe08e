"""uvicorn's HTTP/1.1 protocol with Probate's request cycles.

One timer per connection checks from time to time for how long the client has been idle; uvicorn sets a timer with each response,
which the next request cancels. A request that arrives as a whole with cached headers is not parsed (`header_cache`).
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
from probate.http.header_cache import CachedHeaders, CompleteRequest
from probate.http.request_cycle import RequestCycle, encode_headers
from probate.http.tls import client_certificates

MAX_PIPELINED = 50
"""Requests on one connection that wait for the previous one. (Hardly any client sends a request before the last is answered.)"""


class HttpProtocol(HttpToolsProtocol):
    """One client's connection: parses requests, runs them one after the other, and tracks idle time."""

    _idle_since: float | None = None  # when the last response was complete; None if data has arrived since
    _encoded_defaults: tuple[Any, bytes] = (None, b"")  # uvicorn's default headers, and what they are on the wire
    _answering: Any = None  # the request cycle that is running; `cycle` is that of the latest request

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._time_slices = time_slices.current()
        ssl_object = transport.get_extra_info("ssl_object")
        self.peer = None if ssl_object is None else client_certificates.client_identity(ssl_object)

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in (self._answering, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.set()
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
        raw_path, query = _split_target(self.url)
        path = raw_path.decode("ascii")
        previous: Any = self.cycle
        cycle = self._create_cycle(
            method, urllib.parse.unquote(path) if "%" in path else path, raw_path=raw_path, query=query, version=version
        )
        cycle.keep_alive = version != "1.0" and parser.should_keep_alive()
        self.headers = []  # a new list: the old one belongs to the request cycle
        if previous is None or previous.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:  # pipelined: the client sent it before the previous request was answered
            if len(self.pipeline) >= MAX_PIPELINED:
                raise errors.TooManyRequests(
                    f"over {MAX_PIPELINED} requests were sent on one connection before the first was answered"
                )
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    def start_cached(self, request: CompleteRequest) -> None:
        """Starts a request that was not parsed. Call it only while no other request is being answered.

        Fast path: `header_cache`; equals parsing, property-tested in tests/unit/http/test_header_cache.py.
        """
        self.expect_100_continue = False
        method, path, query, headers, body = request
        cycle = self._create_cycle(method.decode(), path.decode(), raw_path=path, query=query, cached=headers)
        cycle.set_body(body)
        self._start_asgi_task(cycle, self.app)

    def _create_cycle(
        self, method: str, path: str, *, raw_path: bytes, query: bytes, version: str = "1.1", cached: CachedHeaders | None = None
    ) -> Any:
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "method": method,
            "scheme": self.scheme,
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self.headers if cached is None else cached.headers,
            "known": cached,
            "client": self.client,
            "server": self.server,
            "peer": self.peer,  # the identity in the client's certificate, if it has presented one
        }
        if b"watch=" not in query:  # a watch waits for events, not for a prompt response
            self._time_slices.note_request()
        cycle: Any = RequestCycle(self, scope)
        self.cycle = cycle
        return cycle

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answering = cycle
        cycle.task = asyncio.Task(
            cycle.run_asgi(app), loop=self.loop, name="request"
        )  # (generating a name takes as long as creating the task)
        self.tasks.add(cycle.task)

    def on_body(self, body: bytes) -> None:
        cycle: Any = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.set()

    def on_message_complete(self) -> None:
        cycle: Any = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.set()

    def default_headers(self) -> bytes:
        """Returns the headers that uvicorn gives every response: the date. uvicorn creates a new list each second."""
        headers = self.server_state.default_headers
        if self._encoded_defaults[0] is not headers:
            self._encoded_defaults = headers, encode_headers(headers)
        return self._encoded_defaults[1]

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:  # until all of these are answered, nothing is read but the body of the next one
            self._start_asgi_task(*self.pipeline.pop())
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        self._start_idle()

    def _start_idle(self) -> None:
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._check_idle_in(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return  # the next response sets the timer again
        remaining = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if remaining > 0:
            self._check_idle_in(remaining)
        else:
            self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.transport.close()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None  # (`data_received` does the same)

    def _check_idle_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


_ASGI = {"version": "3.0", "spec_version": "2.3"}


def _split_target(url: bytes) -> tuple[bytes, bytes]:
    """Returns the path and the query of a request target."""
    if url.startswith(b"/") and b"#" not in url:
        path, _, query = url.partition(b"?")
        return path, query
    parsed = httptools.parse_url(url)
    return parsed.path or b"/", parsed.query or b""
