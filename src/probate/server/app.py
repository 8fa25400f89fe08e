"""The ASGI door. For now it answers only what says that the process lives: `/livez`, `/readyz`, `/healthz`, `/version`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import orjson

from probate.server import health, version
from probate.store.contract import Store

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer: TypeAlias = tuple[int, str, bytes]  # code, content type, body

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


class App:
    """One ASGI application on one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        code, content_type, body = await self._answer(scope["method"], scope["path"], scope["query_string"])
        headers = [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _answer(self, method: str, path: str, query: bytes) -> Answer:
        if method not in {"GET", "HEAD"}:
            return _status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        if path == "/version":
            return 200, JSON, orjson.dumps(version.info(), option=orjson.OPT_INDENT_2)
        check, _, only = path.lstrip("/").partition("/")
        if check in health.CHECKS and (found := await health.examine(self._store, check, only)) is not None:
            is_verbose = "verbose" in parse_qs(query.decode("latin-1"), keep_blank_values=True)
            code, text = health.render(check, found, is_verbose=is_verbose)
            return code, TEXT, text
        return _status(404, "NotFound", "the server could not find the requested resource")


def _status(code: int, reason: str, message: str) -> Answer:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason}
    return code, JSON, orjson.dumps({**status, "details": {}, "code": code})
