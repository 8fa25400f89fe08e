"""One client's connection, within limits: how long a request's head may be, and how long a client may take.

uvicorn reads a head of any size, waits for ever for the rest of one, and refuses what it cannot read in plain text. Here

    a head over the limit is 431, a URL over its limit 414, what is no HTTP at all 400: each a `Status`, then the connection ends;
    a client has so long to send a head, or the rest of a body that was refused already, and to read some of its answer.

(How long a body may take is the app's to say, since it can still answer.)

A refusal is read by the client only if it is not cut off while it still sends. So after a refusal what comes is thrown away for
a moment before the connection ends.
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
from probate.http.header_cache import Heads
from probate.http.memory_limits import MAX_HEADS, Debts, Room, Share
from probate.http.protocol import Frugal

MAX_HEAD_BYTES = 1024 * 1024
HEADER_COST = 200
"""Bytes that each header counts besides its own: about what it takes to keep it."""
MAX_URL_BYTES = 65_535
IDLE_SECONDS = 90
LINGER_SECONDS = 2.0
HEADS, DEBTS, KNOWN = Room("heads of requests", MAX_HEADS), Debts(), Heads()
"""Of all connections of the process."""
_VERSIONS = ("1.1", "1.0")


class Connection(Frugal):
    """uvicorn's connection with limits. `patience` is for how many seconds a client may keep it waiting."""

    def __init__(self, patience: float, **given: Any) -> None:
        super().__init__(**given)
        self._patience = patience
        self.since = self.loop.time()  # when it came, or its last answer was complete
        self.on_leaving: Callable[[Connection], None] = lambda _: None
        self._head = Share(HEADS)
        self._is_in_head = False
        self._is_in_body = False
        self._is_over = False
        self._unparsed = 0  # bytes since the last request, head, or piece of a body was complete
        self._deadline: asyncio.TimerHandle | None = None
        self._reader_check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self.on_leaving(self)
        self._head.drop()
        self._unset_deadline()
        self.resume_writing()
        self._unwatch_reader()
        super().connection_lost(exc)
        # The parser and the exchanges refer back to this: without the cycles all of it is freed at once, and not when Python next
        # looks through everything for garbage, which after an attack can be much later.
        self.parser = self.cycle = self._answering = None  # type: ignore[assignment]

    def eof_received(self) -> None:
        self.close()

    def data_received(self, data: bytes) -> None:
        self._idle_since = None
        if self._is_over:
            return
        before = self.cycle
        is_new = not (self._unparsed or self._is_in_head or self._is_in_body) and (before is None or before.response_complete)
        if is_new and (whole := KNOWN.read(data)) is not None:
            if self._deadline is not None:
                self._unset_deadline()
            self.begin(whole)
            return
        self._unparsed += len(data)
        try:
            self.parser.feed_data(data)
            if self._is_in_head or self._is_in_body:
                self._check_what_is_unfinished()
            elif is_new and self.cycle is not before and self.cycle.keep_alive and not self.pipeline:
                KNOWN.remember(data, list(self.cycle.scope["headers"]))
        except httptools.HttpParserUpgrade:  # no other protocol is spoken here: it is answered like any request, and that is it
            self._is_over = True
            self.cycle.keep_alive = False
        except (httptools.HttpParserError, errors.ApiError) as error:
            self._refuse(_reason(error))

    def _check_what_is_unfinished(self) -> None:
        if self._is_in_head:
            self._check_head()
            self._head.hold(self._unparsed + HEADER_COST * len(self.headers))
            if self._deadline is None:
                self._set_deadline()
        elif self._is_in_body and self._unparsed > MAX_HEAD_BYTES:  # what is neither head nor body: trailers, a size of many zeros
            raise errors.BadRequest("the body of the request has more around it than in it")

    def _check_head(self) -> None:
        if len(self.url) > MAX_URL_BYTES:
            raise errors.UrlTooLong(f"the URL is over the limit of {MAX_URL_BYTES:,} bytes")
        if self._unparsed + HEADER_COST * len(self.headers) <= MAX_HEAD_BYTES:
            return  # and so is the head, of which this is at most a part
        size = self._unparsed if self._is_in_head else sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size + HEADER_COST * len(self.headers) > MAX_HEAD_BYTES:
            raise errors.HeadersTooLarge(
                f"the headers are over the limit of {MAX_HEAD_BYTES:,} bytes, where each counts {HEADER_COST} more than it has"
            )

    def _check_form(self) -> None:
        """What a head must not say, or two who read it could read two requests in it. (The parser finds most of that.)"""
        version, names = self.parser.get_http_version(), [name for name, _ in self.headers]
        if version not in _VERSIONS:
            raise errors.BadRequest("this server speaks HTTP/1.1")
        if names.count(b"host") != 1 and (version == "1.1" or b"host" in names):
            raise errors.BadRequest("a request has one Host header")
        if b"transfer-encoding" in names:
            encodings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
            if version == "1.0" or encodings != [b"chunked"]:
                raise errors.BadRequest("a body comes as it is, or chunked: there is no other Transfer-Encoding")

    # What the parser calls.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._check_head()
        self._head.drop()
        self._check_form()
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
        if self._deadline is not None:  # it was answered before it was complete
            self._unset_deadline()
            self._be_idle()

    # What uvicorn calls.

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()
        if self._is_in_body and not self.transport.is_closing():
            self._set_deadline()

    def pause_writing(self) -> None:
        super().pause_writing()
        left = self.transport.get_write_buffer_size()
        DEBTS.owe(self, left)
        self._watch_reader(left)

    def resume_writing(self) -> None:
        DEBTS.settle(self)
        self._unwatch_reader()
        super().resume_writing()
        if self.transport.is_closing():  # there may be some left, and nothing else ends a connection that is being closed
            self._watch_reader(self.transport.get_write_buffer_size())

    def close(self) -> None:
        """End the connection when the client has read what it was sent. If it reads nothing any more, it is cut off."""
        if not self.transport.is_closing():
            self.transport.close()
            if self._reader_check is None:
                self._watch_reader(self.transport.get_write_buffer_size())

    # Patience, and its end.

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._patience, self._give_up)

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self._is_in_head:
            self._refuse(errors.RequestTimeout(f"the headers did not come within {self._patience:g} seconds: nothing was done"))
        else:
            self.close()

    def _watch_reader(self, left: int) -> None:
        """Look again later whether the client has read any of what is left for it."""
        self._reader_check = self.loop.call_later(self._patience, self._check_reader, left)

    def _unwatch_reader(self) -> None:
        if self._reader_check is not None:
            self._reader_check.cancel()
            self._reader_check = None

    def _check_reader(self, left_before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < left_before:
            self._watch_reader(left)
        else:
            self.transport.abort()

    def _refuse(self, error: errors.ApiError) -> None:
        """Answer if it is this request's turn. Nothing that comes after it is read."""
        self._is_over = True
        self._head.drop()
        self._unset_deadline()
        running: Any = self.cycle if self.cycle is not None and not self.cycle.response_complete else None
        if self.pipeline or (running is not None and running.response_started):
            self.transport.abort()
        elif running is not None and not self._is_in_body:  # one that came before: it is answered, and that is it
            running.keep_alive = False
        else:
            if running is not None:
                running.disconnected = True
                running.set()
            self._say_and_linger(error)

    def _say_and_linger(self, error: errors.ApiError) -> None:
        body = orjson.dumps(status.failure(error))
        about = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[error.code] + about + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER_SECONDS, self.close)


def _reason(error: Exception) -> errors.ApiError:
    """What to answer. What the parser's callbacks raise arrives as the context of an error of the parser's."""
    for one in (error, error.__context__):
        if isinstance(one, errors.ApiError):
            return one
    return errors.BadRequest(f"this is no request as HTTP has them: {error.__context__ or error}")
