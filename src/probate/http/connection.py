"""One client connection, with limits on the size of request headers and on how long a client may take.

uvicorn accepts headers of any size, waits forever for the rest, and answers what it cannot parse in plain text. This connection

    answers headers over the limit with 431, a URL over its limit with 414, and input that is not HTTP with 400, each with a
    `Status`, and then closes;
    gives a client `patience` seconds to send headers, or the rest of a refused body, and to read some of its response.

(The app limits how long a body may take, since it can still answer then.) A client that is still sending when the connection closes
cannot read the refusal. So after a refusal the connection reads and discards input for a moment before it closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from probate.api import status
from probate.core import errors
from probate.http.header_cache import HeaderCache
from probate.http.memory_limits import MAX_HEADERS_MEMORY, MemoryBudget, MemoryShare, UnreadResponses
from probate.http.protocol import HttpProtocol

MAX_HEADERS_BYTES = 1024 * 1024
HEADER_OVERHEAD_BYTES = 200
"""Bytes that each header counts besides its own: about what Python needs to store it."""
MAX_URL_BYTES = 65_535
IDLE_SECONDS, LINGER_SECONDS = 90, 2.0
HEADERS_MEMORY = MemoryBudget("request headers", MAX_HEADERS_MEMORY)
UNREAD_RESPONSES, HEADER_CACHE = UnreadResponses(), HeaderCache()
"""These three are shared by all connections of the process."""


class Connection(HttpProtocol):
    """uvicorn's connection with limits. `patience` is the number of seconds that a client may keep it waiting."""

    def __init__(self, patience: float, **options: Any) -> None:
        super().__init__(**options)
        self._patience = patience
        self.last_activity = self.loop.time()  # when it was accepted, or its last response was complete
        self.on_close: Callable[[Connection], None] = lambda _: None
        self._headers_share = MemoryShare(HEADERS_MEMORY)
        self._is_in_headers = self._is_in_body = False
        self._ignores_input = False
        self._unparsed = 0  # bytes since the last complete request, header block, or piece of a body
        self._deadline: asyncio.TimerHandle | None = None
        self._reader_check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self.on_close(self)
        self._headers_share.release()
        self._unset_deadline()
        self.resume_writing()
        self._unwatch_reader()
        super().connection_lost(exc)
        # The parser and the request cycles refer back to this object. Without these reference cycles all of it is freed at once,
        # and not at Python's next garbage collection, which after an attack can be much later.
        self.parser = self.cycle = self._answering = None  # type: ignore[assignment]

    def eof_received(self) -> None:
        self.close()

    def data_received(self, data: bytes) -> None:
        self._idle_since = None
        if self._ignores_input:
            return
        before = self.cycle
        is_new = not (self._unparsed or self._is_in_headers or self._is_in_body) and (before is None or before.response_complete)
        if is_new and (request := HEADER_CACHE.read(data)) is not None:
            if self._deadline is not None:
                self._unset_deadline()
            self.start_cached(request)
            return
        self._unparsed += len(data)
        try:
            self.parser.feed_data(data)
            if self._is_in_headers or self._is_in_body:
                self._check_incomplete_request()
            elif is_new and self.cycle is not before and self.cycle.keep_alive and not self.pipeline:
                HEADER_CACHE.add(data, list(self.cycle.scope["headers"]))
        except (
            httptools.HttpParserUpgrade
        ):  # the server supports no other protocol: it answers the request and closes the connection
            self._ignores_input = True
            self.cycle.keep_alive = False
        except (httptools.HttpParserError, errors.ApiError) as error:
            self._refuse(_api_error(error))

    def _check_incomplete_request(self) -> None:
        if self._is_in_headers:
            self._check_headers_size()
            self._headers_share.grow_to(self._unparsed + HEADER_OVERHEAD_BYTES * len(self.headers))
            if self._deadline is None:
                self._set_deadline()
        elif self._is_in_body and self._unparsed > MAX_HEADERS_BYTES:  # neither headers nor body: trailers, a size of many zeros
            raise errors.BadRequest("the chunk sizes and trailers of the request body are larger than the body itself")

    def _check_headers_size(self) -> None:
        if len(self.url) > MAX_URL_BYTES:
            raise errors.UrlTooLong(f"the URL is over the limit of {MAX_URL_BYTES:,} bytes")
        if self._unparsed + HEADER_OVERHEAD_BYTES * len(self.headers) <= MAX_HEADERS_BYTES:
            return  # the headers are at most a part of the unparsed bytes
        size = self._unparsed if self._is_in_headers else sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size + HEADER_OVERHEAD_BYTES * len(self.headers) > MAX_HEADERS_BYTES:
            limit = f"{MAX_HEADERS_BYTES:,} bytes, where each header counts {HEADER_OVERHEAD_BYTES} more than it has"
            raise errors.HeadersTooLarge(f"the headers are over the limit of {limit}")

    def _check_framing(self) -> None:
        """Refuses headers in which two HTTP parsers could see two different requests. (The parser refuses most of these.)"""
        version, names = self.parser.get_http_version(), [name for name, _ in self.headers]
        if version not in {"1.1", "1.0"}:
            raise errors.BadRequest("this server speaks HTTP/1.1 and HTTP/1.0 only")
        if names.count(b"host") != 1 and (version == "1.1" or b"host" in names):
            raise errors.BadRequest("a request must have exactly one Host header")
        if b"transfer-encoding" in names:
            encodings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
            if version == "1.0" or encodings != [b"chunked"]:
                raise errors.BadRequest("the only Transfer-Encoding that is supported is chunked, in HTTP/1.1")

    # Called by the parser.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_headers = True

    def on_headers_complete(self) -> None:
        self._is_in_headers = False
        self._check_headers_size()
        self._headers_share.release()
        self._check_framing()
        super().on_headers_complete()
        self._is_in_body, self._unparsed = True, 0
        if self._deadline is not None:
            self._unset_deadline()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_body, self._unparsed = False, 0
        super().on_message_complete()
        if self._deadline is not None:  # the request was answered before it was complete
            self._unset_deadline()
            self._start_idle()

    # Called by uvicorn.

    def on_response_complete(self) -> None:
        self.last_activity = self.loop.time()
        super().on_response_complete()
        if self._is_in_body and not self.transport.is_closing():
            self._set_deadline()

    def pause_writing(self) -> None:
        super().pause_writing()
        unread = self.transport.get_write_buffer_size()
        UNREAD_RESPONSES.add(self, unread)
        self._watch_reader(unread)

    def resume_writing(self) -> None:
        UNREAD_RESPONSES.remove(self)
        self._unwatch_reader()
        super().resume_writing()
        if self.transport.is_closing():  # some bytes may be left, and nothing else ends a connection that is closing
            self._watch_reader(self.transport.get_write_buffer_size())

    def close(self) -> None:
        """Closes the connection once the client has read its responses. Aborts it if the client stops reading."""
        if not self.transport.is_closing():
            self.transport.close()
            if self._reader_check is None:
                self._watch_reader(self.transport.get_write_buffer_size())

    # Timeouts and refusals.

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._patience, self._on_deadline)

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_deadline(self) -> None:
        if self._is_in_headers:
            self._refuse(errors.RequestTimeout(f"the headers did not arrive within {self._patience:g} seconds: nothing was done"))
        else:
            self.close()

    def _watch_reader(self, unread: int) -> None:
        """Checks after `patience` seconds whether the client has read any of its `unread` bytes."""
        self._reader_check = self.loop.call_later(self._patience, self._check_reader, unread)

    def _unwatch_reader(self) -> None:
        if self._reader_check is not None:
            self._reader_check.cancel()
            self._reader_check = None

    def _check_reader(self, unread_before: int) -> None:
        unread = self.transport.get_write_buffer_size()
        if unread < unread_before:
            self._watch_reader(unread)
        else:
            self.transport.abort()

    def _refuse(self, error: errors.ApiError) -> None:
        """Answers with the error if no earlier request is unanswered. Reads nothing more from the connection."""
        self._ignores_input = True
        self._headers_share.release()
        self._unset_deadline()
        running: Any = self.cycle if self.cycle is not None and not self.cycle.response_complete else None
        if self.pipeline or (running is not None and running.response_started):
            self.transport.abort()
        elif running is not None and not self._is_in_body:  # an earlier request: it is answered, then the connection closes
            running.keep_alive = False
        else:
            if running is not None:
                running.disconnected = True
                running.set()
            self._send_and_linger(error)

    def _send_and_linger(self, error: errors.ApiError) -> None:
        body = orjson.dumps(status.failure_status(error))
        headers = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[error.code] + headers + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER_SECONDS, self.close)


def _api_error(error: Exception) -> errors.ApiError:
    """Returns the error to answer with. An error that a parser callback raises arrives as the context of a parser error."""
    for candidate in (error, error.__context__):
        if isinstance(candidate, errors.ApiError):
            return candidate
    return errors.BadRequest(f"the request is not valid HTTP: {error.__context__ or error}")
