"""Requests to servers of others: a POST of JSON and its answer, on connections that are kept. Answers are bounded in size and time.

Redirects are not followed: who is configured is asked, and nobody else.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

import httptools

from probate.core.aio.offload import Inline, Offload
from probate.http.tls import trust
from probate.server.webhooks.endpoints import Endpoint, Unreachable

MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_AT_ONCE = 100
"""Requests to one server that are under way. One more fails at once: a slow server is not made slower, and nobody waits for it."""
MAX_KEPT = 16
KEPT_SECONDS = 30.0
MAX_CONTEXTS = 64
_CHUNK = 64 * 1024
_AGENT = b"probate-webhooks"


class _Place(NamedTuple):
    """What connections can be shared by."""

    host: str
    port: int
    name: str
    ca: str


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    since: float


class Outbound:
    """Sends requests. `close` lets go of the connections."""

    def __init__(self, offload: Offload | None = None) -> None:
        self._offload = offload or Inline()
        self._kept: dict[_Place, list[_Connection]] = {}
        self._under_way: dict[_Place, int] = {}
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def post(self, endpoint: Endpoint, body: bytes, *, seconds: float) -> bytes:
        """The body of the answer. `Unreachable` if there is none in time, or it is no success."""
        ca = hashlib.sha256(endpoint.ca.encode()).hexdigest() if endpoint.is_tls else ""
        place = _Place(endpoint.host, endpoint.port, endpoint.name, ca)
        if self._under_way.get(place, 0) >= MAX_AT_ONCE:
            raise Unreachable(f"{MAX_AT_ONCE} requests to this server are under way already")
        self._under_way[place] = self._under_way.get(place, 0) + 1
        try:
            async with asyncio.timeout(seconds):
                return await self._post(endpoint, place, body, seconds)
        except TimeoutError:
            raise Unreachable("context deadline exceeded: no answer came in time") from None
        except (OSError, ssl.SSLError, httptools.HttpParserError) as error:
            raise Unreachable(_told(error, endpoint)) from None
        finally:
            self._under_way[place] -= 1
            if not self._under_way[place]:
                del self._under_way[place]

    async def close(self) -> None:
        """Close all connections that are kept."""
        kept, self._kept = self._kept, {}
        for connection in [one for some in kept.values() for one in some]:
            connection.writer.transport.abort()
        await asyncio.sleep(0)

    async def _post(self, endpoint: Endpoint, place: _Place, body: bytes, seconds: float) -> bytes:
        request = _request(endpoint, body, seconds)
        kept = self._take(place)
        if kept is not None:
            try:
                return await self._exchange(kept, place, request)
            except _Stale:
                pass  # the other side had closed it before we wrote
        return await self._exchange(await self._connect(endpoint), place, request)

    def _take(self, place: _Place) -> _Connection | None:
        """A connection that seems to be open still."""
        kept, now = self._kept.get(place, []), asyncio.get_running_loop().time()
        while kept:
            found = kept.pop()
            if now - found.since < KEPT_SECONDS and not found.reader.at_eof() and not found.writer.is_closing():
                return found
            found.writer.transport.abort()
        self._kept.pop(place, None)
        return None

    async def _connect(self, endpoint: Endpoint) -> _Connection:
        context = await self._context(endpoint.ca) if endpoint.is_tls else None
        reader, writer = await asyncio.open_connection(
            endpoint.host, endpoint.port, ssl=context, server_hostname=endpoint.name if context is not None else None
        )
        return _Connection(reader, writer, asyncio.get_running_loop().time())

    async def _context(self, ca: str) -> ssl.SSLContext:
        found = self._contexts.get(ca)
        if found is None:
            found = await self._offload.run(functools.partial(_context, ca))
            if len(self._contexts) >= MAX_CONTEXTS:
                self._contexts.clear()
            self._contexts[ca] = found
        return found

    async def _exchange(self, connection: _Connection, place: _Place, request: bytes) -> bytes:
        answer, is_whole = _Answer(), False
        try:
            connection.writer.write(request)
            await answer.read(connection.reader)
            is_whole = True
        finally:
            if is_whole and answer.is_kept_alive:
                self._keep(connection, place)
            else:
                connection.writer.transport.abort()
        return answer.body()

    def _keep(self, connection: _Connection, place: _Place) -> None:
        kept = self._kept.setdefault(place, [])
        if len(kept) >= MAX_KEPT:
            connection.writer.transport.abort()
        else:
            kept.append(connection._replace(since=asyncio.get_running_loop().time()))


class _Stale(ConnectionError):
    """The connection was closed before anything came."""


class _Answer:
    """One answer as it comes."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._is_complete = False
        self.is_kept_alive = False
        self._has_length = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() in {b"content-length", b"transfer-encoding"}:
            self._has_length = True

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        self._is_complete = True
        self.is_kept_alive = self._parser.should_keep_alive()  # which it knows only now

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Read all of it."""
        size = 0
        while not self._is_complete:
            data = await self._next(reader, size)
            if not data:
                break
            size += len(data)
            if size > MAX_ANSWER_BYTES:
                raise Unreachable(f"the answer is over the limit of {MAX_ANSWER_BYTES:,} bytes")
            self._parser.feed_data(data)
        if not self._is_complete and (self._has_length or not size):
            raise ConnectionError("unexpected EOF")

    async def _next(self, reader: asyncio.StreamReader, size: int) -> bytes:
        try:
            data = await reader.read(_CHUNK)
        except ConnectionError:
            data = b""
        if not data and not size:
            raise _Stale("EOF")
        return data

    def body(self) -> bytes:
        code = self._parser.get_status_code()
        if not 200 <= code < 300:
            told = "redirects are not followed" if 300 <= code < 400 else self._beginning()
            raise Unreachable(f"the server answered with HTTP status {code}{f': {told}' if told else ''}")
        return b"".join(self._parts)

    def _beginning(self) -> str:
        text = b"".join(self._parts)[:200].decode("utf-8", "replace")
        return "".join(one if one.isprintable() else " " for one in text).strip()


def _request(endpoint: Endpoint, body: bytes, seconds: float) -> bytes:
    given = quote(endpoint.path, safe="/?&=%:@+$,;!*'()~")
    path = f"{given}{'&' if '?' in given else '?'}timeout={seconds:g}s"
    host = f"[{endpoint.name}]" if ":" in endpoint.name else endpoint.name
    head = b"POST %b HTTP/1.1\r\nhost: %b:%d\r\ncontent-type: application/json\r\naccept: application/json\r\n" % (
        path.encode(),
        host.encode("idna") if not host.isascii() else host.encode(),
        endpoint.port,
    )
    return b"%buser-agent: %b\r\ncontent-length: %d\r\n\r\n%b" % (head, _AGENT, len(body), body)


def _context(ca: str) -> ssl.SSLContext:
    try:
        return trust.client_context(ca)
    except trust.NoCertificate:
        raise Unreachable("unable to load root certificates: unable to parse bytes as PEM block") from None


def _told(error: Exception, endpoint: Endpoint) -> str:
    """The failure in the words that Kubernetes' users know."""
    where = f"{endpoint.host}:{endpoint.port}"
    words: dict[type[Exception], Callable[[], str]] = {
        ConnectionRefusedError: lambda: f"dial tcp {where}: connect: connection refused",
        socket.gaierror: lambda: f"dial tcp: lookup {endpoint.host}: no such host",
        ssl.SSLCertVerificationError: lambda: f"tls: failed to verify certificate: x509: {getattr(error, 'verify_message', error)}",
        httptools.HttpParserError: lambda: f"malformed HTTP response: {error}",
        _Stale: lambda: "EOF",
    }
    return next((word() for kind, word in words.items() if isinstance(error, kind)), str(error) or type(error).__name__)
