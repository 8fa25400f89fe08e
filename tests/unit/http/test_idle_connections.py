"""Idle connections: they are closed after their timeout, and not before."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from probate.http.protocol import HttpProtocol

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
IDLE_SECONDS = 0.2


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def test_connection_is_closed_after_its_idle_timeout_and_not_while_it_is_used() -> None:
    config = uvicorn.Config(app, timeout_keep_alive=IDLE_SECONDS)  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpProtocol(config, ServerState(), {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    last = 0.0
    for _ in range(4):  # in total longer than the idle timeout
        writer.write(REQUEST)
        assert await reader.readexactly(len(RESPONSE)) == RESPONSE
        last = loop.time()
        await asyncio.sleep(IDLE_SECONDS / 2)
    assert await asyncio.wait_for(reader.read(), 60) == b""
    assert loop.time() - last >= IDLE_SECONDS * 0.9
    writer.close()
    server.close()


async def test_pipelined_request_kept_a_response_running_after_its_client_had_disconnected() -> None:
    disconnected: asyncio.Queue[str] = asyncio.Queue()

    async def long(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass
        disconnected.put_nowait(scope["path"])

    config = uvicorn.Config(long)
    server = await asyncio.get_running_loop().create_server(lambda: HttpProtocol(config, ServerState(), {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"GET /first HTTP/1.1\r\nhost: x\r\n\r\nGET /second HTTP/1.1\r\nhost: x\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n")
    writer.close()
    assert await asyncio.wait_for(disconnected.get(), 60) == "/first"
    server.close()
