"""The limit for the API: uvicorn alone, answering with bytes it holds already. `BARE_SIZE` says how many."""

from __future__ import annotations

import os
from typing import Any

BODY = b"x" * int(os.environ.get("BARE_SIZE", "1000"))
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": BODY})
