"""Sends requests to one server and classifies the answers for a history, including requests whose answer was lost."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

import httpx

from linearizability.history import ObjectVersion, Outcome

TIMEOUT_SECONDS = 0.5
"""How long a client waits for an answer. Faults last longer, so some answers are lost."""
RECOVERY_SECONDS = 60.0
"""How long a server without faults may take to carry out a request."""
_OUTCOMES = {200: "ok", 201: "ok", 404: "absent"}
_UNCHANGED = {429, 503, 507}
"""With these status codes the server says that the request changed nothing; 504 is not among them."""


class Answer(NamedTuple):
    """The answer to one request: when it was sent, when the answer came, and what the answer means."""

    start: float
    end: float
    code: int  # 0 if there was none
    outcome: Outcome
    body: dict[str, Any]


class ApiClient:
    """An HTTP client of one server. `url` may change when the server restarts."""

    def __init__(self, number: int, url: str) -> None:
        self.number = number
        self.url = url
        self._client = httpx.AsyncClient(base_url=url, timeout=TIMEOUT_SECONDS, limits=httpx.Limits(max_connections=100))

    async def close(self) -> None:
        await self._client.aclose()

    async def request(self, method: str, path: str, body: Any = None, **fields: Any) -> Answer:
        start = time.monotonic()
        try:
            response = await self._client.request(method, path, json=body, **fields)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):  # nothing was sent
            return Answer(start, time.monotonic(), 0, "failed", {})
        except httpx.HTTPError:
            return Answer(start, time.monotonic(), 0, "unknown", {})
        return Answer(start, time.monotonic(), response.status_code, outcome(response), response.json())

    async def request_until_done(self, method: str, path: str, body: Any = None) -> Answer:
        """Repeats a request until it succeeds. `AlreadyExists` counts as success."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        while (answer := await self.request(method, path, body)).outcome not in {"ok", "exists"}:
            assert time.monotonic() < deadline, (
                f"server {self.number} did not carry out {method} {path} within {RECOVERY_SECONDS} s: {answer}"
            )
            await asyncio.sleep(0.02)
        return answer

    def stream(self, path: str, **params: str) -> Any:
        """Opens a watch. Its read timeout is long, because there may be no events."""
        timeout = httpx.Timeout(WATCH_SECONDS)
        return self._client.stream("GET", path, params=params, timeout=timeout)


WATCH_SECONDS = 1.5
"""After this time without an event a watcher reconnects: a paused server does not end its connections."""


def outcome(response: httpx.Response) -> Outcome:
    """Returns the outcome of a request from its response."""
    if response.status_code in _UNCHANGED:
        return "failed"
    if response.status_code == 409:
        return "exists" if response.json().get("reason") == "AlreadyExists" else "conflict"
    result = _OUTCOMES.get(response.status_code, "unknown")
    assert result in {"ok", "absent", "unknown"}
    return result  # type: ignore[return-value]


def object_version(body: dict[str, Any]) -> ObjectVersion:
    """Returns the value and version of an object in an answer."""
    return ObjectVersion((body.get("data") or {}).get("value", ""), int(body["metadata"]["resourceVersion"]))
