"""The HTTP client for webhooks: posts JSON on pooled connections. The size and duration of responses are limited.

Redirects are not followed: the client connects only to configured servers.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import hashlib
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

import httptools

from probate.core.aio.offload import InlineOffload, Offload
from probate.http.tls import trust
from probate.server.webhooks.endpoints import Endpoint, Unreachable

MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_AT_ONCE = 100
"""Maximum number of concurrent requests to one server. Further requests fail at once: they neither wait nor add load to it."""
MAX_POOLED = 16
"""Connections to one server that are kept for the next requests."""
MAX_POOLED_IN_ALL = 256
"""Connections to all servers that are kept. Whoever configures webhooks names the servers: there can be any number of them."""
POOL_SECONDS = 30.0
MAX_CONTEXTS = 64
_CHUNK = 64 * 1024
_AGENT = b"probate-webhooks"


class _PoolKey(NamedTuple):
    """The pool key: connections with equal keys are interchangeable."""

    host: str
    port: int
    name: str
    ca: str


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    since: float


class Outbound:
    """Sends requests. `close` closes the pooled connections."""

    def __init__(self, offload: Offload | None = None) -> None:
        self._offload = offload or InlineOffload()
        self._pool: dict[_PoolKey, list[_Connection]] = {}
        self._in_flight: dict[_PoolKey, int] = {}
        self._contexts: dict[str, ssl.SSLContext] = {}

    def with_own_limit(self) -> Outbound:
        """Returns a client on the same connections whose requests count separately: another one cannot take all places."""
        other = copy.copy(self)
        other._in_flight = {}  # noqa: SLF001
        return other

    async def post(self, endpoint: Endpoint, body: bytes, *, seconds: float) -> bytes:
        """Posts a request and returns the response body. Raises `Unreachable` on timeout or if the status is not successful."""
        ca = hashlib.sha256(endpoint.ca.encode()).hexdigest() if endpoint.is_tls else ""
        pool_key = _PoolKey(endpoint.host, endpoint.port, endpoint.name, ca)
        if self._in_flight.get(pool_key, 0) >= MAX_AT_ONCE:
            raise Unreachable(f"{MAX_AT_ONCE} requests to this server are in progress already")
        self._in_flight[pool_key] = self._in_flight.get(pool_key, 0) + 1
        try:
            async with asyncio.timeout(seconds):
                return await self._post(endpoint, pool_key, body, seconds=seconds)
        except TimeoutError:
            raise Unreachable("context deadline exceeded: no answer came in time") from None
        except (OSError, ssl.SSLError, httptools.HttpParserError) as error:
            raise Unreachable(_error_message(error, endpoint)) from None
        finally:
            self._in_flight[pool_key] -= 1
            if not self._in_flight[pool_key]:
                del self._in_flight[pool_key]

    async def close(self) -> None:
        """Closes all pooled connections."""
        kept = [connection for some in self._pool.values() for connection in some]
        self._pool.clear()
        for connection in kept:
            connection.writer.transport.abort()
        await asyncio.sleep(0)

    async def _post(self, endpoint: Endpoint, pool_key: _PoolKey, body: bytes, *, seconds: float) -> bytes:
        request = _request(endpoint, body, seconds)
        kept = self._take_pooled(pool_key)
        if kept is not None:
            try:
                return await self._exchange(kept, pool_key, request)
            except _Stale:
                pass  # the server closed the pooled connection before the request
        return await self._exchange(await self._connect(endpoint), pool_key, request)

    def _take_pooled(self, pool_key: _PoolKey) -> _Connection | None:
        """Returns a pooled connection that still seems open; None if there is none."""
        kept, now = self._pool.get(pool_key, []), asyncio.get_running_loop().time()
        while kept:
            found = kept.pop()
            if now - found.since < POOL_SECONDS and not found.reader.at_eof() and not found.writer.is_closing():
                if not kept:
                    del self._pool[pool_key]
                return found
            found.writer.transport.abort()
        self._pool.pop(pool_key, None)
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

    async def _exchange(self, connection: _Connection, pool_key: _PoolKey, request: bytes) -> bytes:
        answer, is_whole = _Answer(), False
        try:
            connection.writer.write(request)
            await answer.read(connection.reader)
            is_whole = True
        finally:
            if is_whole and answer.is_kept_alive:
                self._keep(connection, pool_key)
            else:
                connection.writer.transport.abort()
        return answer.body()

    def _keep(self, connection: _Connection, pool_key: _PoolKey) -> None:
        if sum(map(len, self._pool.values())) >= MAX_POOLED_IN_ALL:
            self._drop_oldest()
        kept = self._pool.setdefault(pool_key, [])
        if len(kept) >= MAX_POOLED:
            connection.writer.transport.abort()
        else:
            kept.append(connection._replace(since=asyncio.get_running_loop().time()))

    def _drop_oldest(self) -> None:
        """Closes the connection that has been unused for longest."""
        pool_key = min((key for key, kept in self._pool.items() if kept), key=lambda key: self._pool[key][0].since)
        oldest = self._pool[pool_key].pop(0)
        oldest.writer.transport.abort()
        if not self._pool[pool_key]:
            del self._pool[pool_key]


class _Stale(ConnectionError):
    """The server closed the connection before it sent any bytes."""


class _Answer:
    """A response that is being parsed."""

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
        self.is_kept_alive = self._parser.should_keep_alive()  # the parser knows this only after the message

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Reads the whole response."""
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
            told = "redirects are not followed" if 300 <= code < 400 else self._body_excerpt()
            raise Unreachable(f"the server answered with HTTP status {code}{f': {told}' if told else ''}")
        return b"".join(self._parts)

    def _body_excerpt(self) -> str:
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


def _error_message(error: Exception, endpoint: Endpoint) -> str:
    """Returns the message for an error, in the words that Kubernetes users know."""
    where = f"{endpoint.host}:{endpoint.port}"
    words: dict[type[Exception], Callable[[], str]] = {
        ConnectionRefusedError: lambda: f"dial tcp {where}: connect: connection refused",
        socket.gaierror: lambda: f"dial tcp: lookup {endpoint.host}: no such host",
        ssl.SSLCertVerificationError: lambda: f"tls: failed to verify certificate: x509: {getattr(error, 'verify_message', error)}",
        httptools.HttpParserError: lambda: f"malformed HTTP response: {error}",
        _Stale: lambda: "EOF",
    }
    return next((word() for kind, word in words.items() if isinstance(error, kind)), str(error) or type(error).__name__)
