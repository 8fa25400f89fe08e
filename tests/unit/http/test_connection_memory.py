"""A connection is freed when it closes, not at Python's next garbage collection, which after an attack can be much later."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from probate.http.connection import Connection

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def without_garbage_collection() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_garbage_collection")
async def test_closed_connections_stayed_in_memory_until_the_next_garbage_collection() -> None:
    config, seen = uvicorn.Config(app), list[weakref.ref[Connection]]()

    def connect() -> Connection:
        connection = Connection(60.0, config=config, server_state=ServerState(), app_state={})
        seen.append(weakref.ref(connection))
        return connection

    server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
    for _ in range(3):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(REQUEST)
        assert await reader.readexactly(len(RESPONSE)) == RESPONSE
        writer.close()
        await writer.wait_closed()
    async with asyncio.timeout(10):
        while any(reference() is not None for reference in seen):  # noqa: ASYNC110 nobody tells
            await asyncio.sleep(0.01)
    server.close()
