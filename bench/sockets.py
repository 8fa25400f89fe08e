"""The baseline of watches: a server that writes given chunks to every connection, and does nothing else.

    python bench/sockets.py PORT FILE          the file has one chunk per line, in hexadecimal

GET /watch subscribes; GET /go writes all chunks to all subscribers, chunk by chunk.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import ClassVar, cast

import uvloop

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Connection(asyncio.Protocol):
    joined: ClassVar[set[asyncio.Transport]] = set()
    chunks: ClassVar[list[bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one, but does not say so

    def connection_lost(self, _: Exception | None) -> None:
        self.joined.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET /go"):
            self._task = asyncio.ensure_future(self._write())
            return
        if data.startswith(b"GET /watch"):
            self.joined.add(self._transport)
        self._transport.write(OK)

    async def _write(self) -> None:
        for chunk in self.chunks:
            for transport in self.joined:
                transport.write(chunk)
            await asyncio.sleep(0)
        self._transport.write(OK)


async def main(port: int, chunks: list[bytes]) -> None:
    Connection.chunks = chunks
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), [bytes.fromhex(line) for line in Path(sys.argv[2]).read_text().splitlines()]))
