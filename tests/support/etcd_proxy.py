"""A TCP proxy in front of etcd that can lose messages: requests before etcd receives them, or answers after etcd has sent them.

    async with Proxy(member.endpoint) as proxy:
        ... a store at proxy.endpoint ...
        proxy.hold_answers()            # holds back etcd's answers from now on
        await proxy.wait_until_held()
        proxy.cut()                     # ends all connections and drops what was held; new connections work as usual

The proxy interrupts one direction only: `hold_requests` or `hold_answers`, and later `cut` (the held data is lost) or `release` (it
arrives late). `release_first_request` delivers a part of what was held, however late, as a slow network would. To distinguish a
request from other traffic of the connection, the proxy reads the headers of HTTP/2 frames.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Self

_HEADERS = 1
_REQUEST_END = (0, 1)  # a DATA frame with the flag END_STREAM


class Proxy:
    """Forwards bytes between its clients and one server, in both directions, unless it holds them."""

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._server: asyncio.Server | None = None
        self._pipes: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._held: list[tuple[asyncio.StreamWriter, bytes]] = []
        self._is_held = asyncio.Event()
        self._is_answered = asyncio.Event()
        self._holds_requests = False
        self._holds_answers = False
        self.endpoint = ""
        self.last_request = 0.0
        """The time of the last request, by the loop's clock."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.endpoint = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    def hold_requests(self) -> None:
        """Holds back all requests from now on."""
        self._holds_requests = True

    def hold_answers(self) -> None:
        """Holds back all answers from now on."""
        self._holds_answers = True

    async def wait_until_held(self) -> None:
        """Waits until the proxy has held back some data."""
        await self._is_held.wait()

    @property
    def is_holding(self) -> bool:
        return self._holds_requests or self._holds_answers

    def cut(self) -> None:
        """Ends all connections and drops what was held. New connections work."""
        self._held.clear()
        for writer in self._writers:
            writer.transport.abort()
        self._stop_holding()

    def release(self) -> None:
        """Delivers all held data in order, and stops holding."""
        for writer, data in self._held:
            if not writer.is_closing():  # its connection may have been closed meanwhile
                writer.write(data)
        self._held.clear()
        self._stop_holding()

    async def release_first_request(self) -> None:
        """Delivers the oldest held request and nothing after it, and waits until the other side has answered."""
        self._is_answered.clear()
        is_complete = False
        while not is_complete:
            writer, data = self._held.pop(0)
            writer.write(data)
            is_complete = _REQUEST_END in _frames(data)
        await self._is_answered.wait()

    def _stop_holding(self) -> None:
        self._holds_requests = self._holds_answers = False
        self._is_held.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        for source, sink, is_request in ((reader, far_writer, True), (far_reader, writer, False)):
            pipe = asyncio.get_running_loop().create_task(self._pump(source, sink, is_request=is_request))
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if is_request:
                    self.last_request = asyncio.get_running_loop().time()
                if self._holds_requests if is_request else self._holds_answers:
                    self._held.append((sink, data))
                    self._is_held.set()
                else:
                    sink.write(data)
                    await sink.drain()
                    if not is_request and any(kind == _HEADERS for kind, _ in _frames(data)):
                        self._is_answered.set()
        self._writers.discard(sink)
        sink.transport.abort()


def _frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields the types and flags of the frames that begin in `data`."""
    start = 0
    while start + 9 <= len(data):
        yield data[start + 3], data[start + 4]
        start += 9 + int.from_bytes(data[start : start + 3], "big")
