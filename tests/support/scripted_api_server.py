"""An HTTP server that gives prepared answers, one after the other, and a clock for the command that asks it.

Commands are tested against it without a process: what an answer of each sort leads to, in which order, and after how long.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """One response. An answer without a body breaks the connection instead; a list is sent as the lines of a watch."""

    code: int = 200
    body: Any = None


class ReceivedRequest(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class ScriptedApiServer:
    """The server. `answers` are given in order, the last one for ever. A watch for which an object is next ends without events."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[ReceivedRequest] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[ScriptedApiServer]:
        thread = threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.01))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _next(self, path: str) -> Answer:
        if "watch=1" in path and isinstance(self.answers[0].body, dict) and self.answers[0].code < 300:
            return Answer(200, [])
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            """Receives one request and gives the next answer."""

            def answer(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length") or 0))
                body = json.loads(content) if content else None
                server.requests.append(ReceivedRequest(self.command, self.path, dict(self.headers), body))
                code, given = server._next(self.path)
                if given is None:
                    return  # the connection closes without an answer
                self.send_response(code)
                lines = given if isinstance(given, list) else [given]
                payload = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_DELETE = answer  # noqa: N815 the names that the base class calls

            def log_message(self, *_: Any) -> None:
                """Logs nothing."""

        return Handler


class CommandTime:
    """A clock that a command advances by waiting."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def failure(code: int, reason: str, message: str, **details: Any) -> Answer:
    """Returns an error response of an API server."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": code}
    return Answer(code, {**status, "details": details})
