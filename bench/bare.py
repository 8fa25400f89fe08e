"""The baseline of the API: uvicorn alone, which answers every request with the bytes of the file that `BARE_BODY` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

BODY = Path(os.environ["BARE_BODY"]).read_bytes()
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": BODY})
