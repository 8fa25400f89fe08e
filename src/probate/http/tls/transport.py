"""TLS on a plain transport, with back pressure that the HTTP connection can observe.

The event loops' own TLS layers encrypt a whole response at once and hand it to the socket's transport, which does not report it:
what a client does not read is then buffered without a limit, and a connection keeps the largest buffer that it ever needed. This
layer

    encrypts one piece at a time, and the next one only when the socket's transport has room for it;
    counts unsent bytes, encrypted or not (`get_write_buffer_size`), and calls `pause_writing` as a plain transport does;
    yields to the event loop between pieces;
    computes handshakes on a thread, one after the other: each takes milliseconds, which would block the event loop;
    closes as a plain transport does: after everything written has been sent, however long it takes. (`Connection` limits the time.)

`TlsTransport` is a protocol for the socket's transport, and a transport for the connection that speaks HTTP:

    socket ⇄ plain transport ⇄ TlsTransport ⇄ Connection
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from probate.core.aio.offload import WorkerThread

RECORD_BYTES = 16 * 1024
"""Size of a TLS record. OpenSSL's buffers grow to the largest piece that they are given, and never shrink."""
FEED_BYTES = 2 * RECORD_BYTES
RECORDS_AT_ONCE = 5
"""Records that are written together: more than the plain transport's high-water mark, so that it tries to send them immediately."""
WRITES_AT_ONCE = 4
"""Writes of `RECORDS_AT_ONCE` records after which the transport yields to the event loop."""
MAX_PROTOCOL_BYTES = 256 * 1024
"""Unsent bytes of TLS itself (answers to key updates, refused renegotiations) above which the connection is aborted."""


class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """The server's side of one TLS connection. Calls `on_handshake` with itself once the handshake is complete."""

    def __init__(
        self,
        context: ssl.SSLContext,
        on_handshake: Callable[[TlsTransport], None],
        *,
        handshake_thread: WorkerThread,
        handshake_seconds: float,
    ) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._read, self._encrypt = self._ssl.read, self._ssl.write
        self._encrypted = self._outgoing.read
        self._extra_info = {"sslcontext": context, "ssl_object": self._ssl}
        self._on_handshake: Callable[[TlsTransport], None] | None = on_handshake  # None once the handshake has ended
        self._handshake_thread = handshake_thread
        self._handshake_seconds = handshake_seconds
        self._is_shaking_hands = False  # a handshake step is running on the thread: nothing else may touch the SSL object
        self.handshake: asyncio.Future[None] = (
            self._loop.create_future()
        )  # done when the handshake has succeeded, failed or timed out
        self._timer: asyncio.TimerHandle | None = None
        self._plain: Any = None
        self._app: Any = None
        self._received = memoryview(b"")  # bytes that arrived while reading was paused, not decrypted yet
        self._unsent: deque[memoryview] = deque()  # written data that is not encrypted yet
        self._unsent_bytes = 0
        self._continuation: asyncio.Handle | None = None
        self._is_reading_paused = False
        self._is_blocked = False  # the plain transport has paused writing
        self._is_app_paused = False
        self._has_eof = False  # `write_eof` was called
        self._is_shut = False  # the TLS close_notify alert was sent
        self._is_closing = False
        self._is_lost = False

    # Called by the plain transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._plain = transport
        self._timer = self._loop.call_later(self._handshake_seconds, self.abort)

    def data_received(self, data: bytes) -> None:
        if self._has_eof or self._is_closing:
            return
        if self._is_shaking_hands:  # reading is paused, but the event loop may have read ahead
            self._received = memoryview(bytes(self._received) + data)
        elif len(data) > FEED_BYTES:
            self._received = memoryview(data)
            self._feed()
        else:
            self._incoming.write(data)
            self._decrypt()

    def eof_received(self) -> bool:
        """Handles the end of the client's data. Everything written before is still sent, as on a plain transport."""
        self._end()
        return True

    def pause_writing(self) -> None:
        self._is_blocked = True
        self._pause_app()

    def resume_writing(self) -> None:
        self._is_blocked = False
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = self._is_lost = True
        self._end_handshake()
        self._cancel_continuation()
        self._unsent.clear()
        self._unsent_bytes, self._received = 0, memoryview(b"")
        app, self._app = self._app, None  # it refers back to this object: without the reference cycle both are freed at once
        if app is not None:
            app.connection_lost(exc)

    # Reading.

    def _feed(self) -> None:
        """Decrypts received bytes in pieces, since OpenSSL keeps a buffer as large as the largest piece."""
        while self._received and self._can_read():
            piece, self._received = self._received[:FEED_BYTES], self._received[FEED_BYTES:]
            if not self._has_eof:  # as in `data_received`
                self._incoming.write(piece)
                self._decrypt()
        if not self._received and self._can_read():
            self._plain.resume_reading()

    def _can_read(self) -> bool:
        return not (self._is_reading_paused or self._is_closing or self._is_shaking_hands)

    def _decrypt(self) -> None:
        """Decrypts complete records and passes them on. (Each read empties a record, so OpenSSL itself buffers nothing.)"""
        if self._on_handshake is not None:
            self._begin_step()
            return
        data, is_over = b"", False
        try:
            data = part = self._read(RECORD_BYTES)
            while part and self._incoming.pending:
                part = self._read(RECORD_BYTES)
                data += part
            is_over = not part
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            is_over = True
        if self._outgoing.pending:
            self._flush()
        if data and self._app is not None:
            self._app.data_received(data)
        if is_over:
            self._end()

    def _begin_step(self) -> None:
        """Runs the next step of the handshake on the thread. OpenSSL releases Python's lock, so the event loop keeps running."""
        self._is_shaking_hands = True
        self._plain.pause_reading()
        self._handshake_thread.submit(self._ssl.do_handshake).add_done_callback(self._end_step)

    def _end_step(self, step: asyncio.Future[None]) -> None:
        self._is_shaking_hands = False
        error = step.exception()
        if self._is_closing:
            return
        if error is None:
            self._complete_handshake()
        elif isinstance(error, ssl.SSLWantReadError):
            self._flush()
        elif isinstance(error, ssl.SSLError):
            self._flush()  # the TLS alert with the reason
            self._is_closing = True
            self._plain.close()
        else:  # the server is stopping
            self.abort()
        self._feed()

    def _complete_handshake(self) -> None:
        self._flush()
        on_handshake = self._on_handshake
        self._end_handshake()
        if on_handshake is not None and not self._is_closing:
            on_handshake(self)
            self._decrypt()  # the first request may have arrived with the last handshake message

    def _end_handshake(self) -> None:
        self._on_handshake = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.handshake.done():
            self.handshake.set_result(None)

    def _end(self) -> None:
        """Closes the connection after the client closed its side."""
        if not self._is_closing:
            if self._app is not None:
                self._app.eof_received()
            self.close()

    def _flush(self) -> None:
        """Sends the messages of TLS itself."""
        if messages := self._encrypted():
            self._plain.write(messages)
            if self._plain.get_write_buffer_size() > MAX_PROTOCOL_BYTES:
                self.abort()

    # Writing.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or self._has_eof or not data:
            return
        if len(data) > RECORD_BYTES or self._is_blocked or self._unsent:
            self._unsent.append(memoryview(data))
            self._unsent_bytes += len(data)
            if self._continuation is None:
                self._send()
            return
        try:
            self._encrypt(data)
        except ssl.SSLError:
            self.abort()
        else:
            self._plain.write(self._encrypted())

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        for data in list_of_data:
            self.write(data)

    def _send(self) -> None:
        """Encrypts and sends as much as the plain transport accepts, and yields to the event loop after `WRITES_AT_ONCE` writes.

        Bytes are neither reordered nor sent twice: nothing is awaited, a piece leaves `_unsent` before the next one is encrypted,
        and what is encrypted is written at once. `write` adds to `_unsent` as long as it holds anything.
        """
        self._cancel_continuation()  # `resume_writing` may run first, if a message of TLS itself filled the plain transport
        writes = WRITES_AT_ONCE
        while self._unsent and not self._is_blocked and writes:
            writes -= 1
            try:
                self._plain.writelines(self._encrypt_records())
            except ssl.SSLError:
                self.abort()
                return
        if self._unsent:
            if not self._is_blocked:
                self._continuation = self._loop.call_soon(self._send)
            self._pause_app()
        elif not self._is_blocked:
            self._on_all_sent()

    def _cancel_continuation(self) -> None:
        if self._continuation is not None:
            self._continuation.cancel()
            self._continuation = None

    def _encrypt_records(self) -> list[bytes]:
        """Returns the next records, encrypted."""
        records: list[bytes] = []
        while self._unsent and len(records) < RECORDS_AT_ONCE:
            first = self._unsent[0]
            size = self._encrypt(first[:RECORD_BYTES])
            records.append(self._encrypted())
            self._unsent_bytes -= size
            if size < len(first):
                self._unsent[0] = first[size:]
            else:
                self._unsent.popleft()
        return records

    def _on_all_sent(self) -> None:
        """Runs when the plain transport has accepted everything and has room for more."""
        if self._is_closing:
            self._shut()
            self._plain.close()
        elif self._has_eof and not self._is_shut:
            self._shut()
            self._plain.write_eof()
        self._resume_app()

    def _shut(self) -> None:
        """Sends the TLS close_notify alert. Does not wait for the client's."""
        if not self._is_shut and not self._is_shaking_hands:
            self._is_shut = True
            with contextlib.suppress(ssl.SSLError):
                self._ssl.unwrap()
            self._flush()

    def _pause_app(self) -> None:
        if not self._is_app_paused and self._app is not None:
            self._is_app_paused = True
            self._app.pause_writing()

    def _resume_app(self) -> None:
        if self._is_app_paused and self._app is not None:
            self._is_app_paused = False
            self._app.resume_writing()

    # Called by the connection.

    def get_write_buffer_size(self) -> int:
        size: int = self._plain.get_write_buffer_size()
        return size + self._unsent_bytes

    def pause_reading(self) -> None:
        self._is_reading_paused = True
        if not self._is_closing:
            self._plain.pause_reading()

    def resume_reading(self) -> None:
        self._is_reading_paused = False
        if self._received:
            self._loop.call_soon(self._feed)
        elif self._can_read():
            self._plain.resume_reading()

    def is_reading(self) -> bool:
        return not self._is_reading_paused and not self._is_closing

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._has_eof = True
        if not self._unsent:
            self._on_all_sent()

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        """Closes once everything written has been sent."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._unsent:
            self._plain.pause_reading()
        else:
            self._shut()
            self._plain.close()

    def abort(self) -> None:
        """Closes immediately and discards unsent data."""
        self._is_closing = True
        self._cancel_continuation()
        self._unsent.clear()
        self._unsent_bytes = 0
        if self._plain is not None and not self._is_lost:
            self._plain.abort()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._app = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._app
        return protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._extra_info[name] if name in self._extra_info else self._plain.get_extra_info(name, default)
