"""uvicorn's connection with less work for each request.

Three things cost more than they give here: the head of an answer and its body leave in two writes, the headers (all of them our
own) are checked by patterns, and each answer sets a timer that the next request cancels. So the head waits for the body where
that comes at once, and one timer looks from time to time for how long the client has been idle.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle


class Exchange(RequestResponseCycle):
    """One request and its answer."""

    _head: list[bytes] | None = None  # of an answer whose body is yet to come

    async def send(self, message: Any) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if not self.response_started:
            self._begin(message["status"], message["headers"])
        else:
            self._go_on(message.get("body", b""), is_last=not message.get("more_body", False))

    def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        self.chunked_encoding = b"content-length" not in dict(headers)
        head = [STATUS_LINE[status], *[b"%b: %b\r\n" % header for header in (*self.default_headers, *headers)]]
        if not self.keep_alive:
            head.append(b"connection: close\r\n")
        if self.chunked_encoding:
            head.append(b"transfer-encoding: chunked\r\n\r\n")
            self.transport.write(b"".join(head))  # a stream may have nothing to say for long
        else:
            head.append(b"\r\n")
            self._head = head

    def _go_on(self, body: bytes, *, is_last: bool) -> None:
        if self._head is not None:
            self._head.append(body)
            self.transport.write(b"".join(self._head))
            self._head = None
        elif self.chunked_encoding and body:
            self.transport.write(b"%x\r\n%b\r\n" % (len(body), body))
        elif body:
            self.transport.write(body)
        if is_last:
            self._end()

    def _end(self) -> None:
        if self.chunked_encoding:
            self.transport.write(b"0\r\n\r\n")
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class Frugal(HttpToolsProtocol):
    """One client's connection."""

    _idle_since: float | None = None  # when the last answer was complete, if nothing has come since

    def on_headers_complete(self) -> None:
        scope, parser = self.scope, self.parser
        version = parser.get_http_version()
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        if parser.should_upgrade() and self._should_upgrade():
            return
        scope["raw_path"], scope["query_string"] = _target(self.url)
        path = scope["raw_path"].decode("ascii")
        scope["path"] = urllib.parse.unquote(path) if "%" in path else path
        before = self.cycle
        self.cycle = Exchange(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:  # it was sent before the one before it was answered
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._be_idle()

    def _be_idle(self) -> None:
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again_in(self.timeout_keep_alive)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

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
        self._idle_since = None

    def _look_again_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


def _target(url: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request."""
    if url.startswith(b"/") and b"#" not in url:
        path, _, query = url.partition(b"?")
        return path, query
    parsed = httptools.parse_url(url)
    return parsed.path or b"/", parsed.query or b""
