"""Clients that use little processor time: they send bytes, count lengths, and parse only what they need."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable
from typing import NamedTuple, cast

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Address(NamedTuple):
    host: str
    port: int


class Result(NamedTuple):
    """The result of a load. `slow` is the 99th percentile of the response times, `cost` the cost of each request."""

    rate: float
    slow: float
    cost: float


def request(method: str, path: str, body: bytes = b"", *, media: str = "application/json", token: str = "") -> bytes:
    about = b"content-type: %b\r\ncontent-length: %d\r\n" % (media.encode(), len(body)) if body else b""
    if token:
        about += b"authorization: Bearer %b\r\n" % token.encode()
    return b"%b %b HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n%b\r\n%b" % (method.encode(), path.encode(), about, body)


class _Asking(asyncio.Protocol):
    """One connection that sends a request, waits for the whole response, and repeats this until `ask` returns nothing."""

    def __init__(self, ask: Callable[[], bytes], took: list[float], expected: bytes) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ask = ask
        self._took = took
        self._expected = expected
        self._head = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is one, but does not declare it

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(SystemExit(f"the server closed a connection: {error}"))

    def data_received(self, data: bytes) -> None:
        if self._left:
            self._left -= len(data)
        else:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            self._left = self._length(end) - (len(self._head) - end - 4)
            self._head = b""
        if not self._left:
            self._took.append(time.perf_counter() - self._began)
            self.go_on()

    def _length(self, end: int) -> int:
        found = _LENGTH.search(self._head, 0, end)
        if found is None or self._head[9:12] != self._expected:
            raise SystemExit(f"expected {self._expected!r}, got {self._head[:2000]!r}")
        return int(found[1])

    def go_on(self) -> None:
        asked = self._ask()
        if asked:
            self._began = time.perf_counter()
            self._transport.write(asked)
        elif not self.done.done():
            self.done.set_result(None)
            self._transport.close()


async def load(  # noqa: PLR0913 the server, the requests, their duration, and what is measured
    at: Address,
    make: Callable[[], bytes],
    *,
    connections: int,
    seconds: float = 0,
    count: int = 0,
    expected: bytes = b"200",
    context: ssl.SSLContext | None = None,
    meter: Callable[[], float] = time.process_time,
) -> Result:
    """Keeps this many requests in progress, for some seconds or until a number of them was sent. Connecting does not count.

    `meter` returns the processor time spent so far.
    """
    took: list[float] = []
    left = count

    def ask() -> bytes:
        nonlocal left
        left -= 1
        is_over = left < 0 if count else time.perf_counter() - began > seconds
        return b"" if is_over else make()

    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: _Asking(ask, took, expected), *at, ssl=context) for _ in range(connections)]
    began, spent = time.perf_counter(), meter()
    for _, asking in made:
        asking.go_on()
    await asyncio.gather(*(asking.done for _, asking in made))
    rate, cost = len(took) / (time.perf_counter() - began), (meter() - spent) / len(took)
    return Result(rate, sorted(took)[len(took) * 99 // 100], cost)


class Reader(asyncio.BufferedProtocol):
    """Sends one request and counts the bytes of the response. One reader also stores them (`keeps`); all share one buffer."""

    _place = memoryview(bytearray(1024 * 1024))

    def __init__(self, asked: bytes, *, keeps: bool = False) -> None:
        self.count = 0
        self.kept: list[bytes] = []
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked = asked
        self._keeps = keeps
        self._goal = 0
        self._reached: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._asked)

    def get_buffer(self, _: int) -> memoryview:
        return self._place

    def buffer_updated(self, size: int) -> None:
        if not self.begun.done():
            self.begun.set_result(None)
        self.count += size
        if self._keeps:
            self.kept.append(bytes(self._place[:size]))
        if self._reached is not None and self.count >= self._goal and not self._reached.done():
            self._reached.set_result(None)

    async def until(self, goal: int) -> None:
        """Waits until this many bytes have arrived."""
        self._goal, self._reached = goal, asyncio.get_running_loop().create_future()
        if self.count < goal:
            await self._reached


async def read(at: Address, asked: bytes, *, keeps: bool = False) -> Reader:
    """Returns a reader whose response has begun to arrive."""
    _, reader = await asyncio.get_running_loop().create_connection(lambda: Reader(asked, keeps=keeps), *at)
    await reader.begun
    return reader


async def fetch(at: Address, asked: bytes, context: ssl.SSLContext | None = None) -> bytes:
    """Returns the body of one response."""
    reader, writer = await asyncio.open_connection(*at, ssl=context)
    writer.write(asked)
    head = await reader.readuntil(b"\r\n\r\n")
    found = _LENGTH.search(head)
    if found is None or head[9:10] != b"2":
        raise SystemExit(f"{asked!r} was answered {head!r}")
    body = await reader.readexactly(int(found[1]))
    writer.close()
    return body
