"""Requests to one server, with the answers that a history can hold: what is known of a request whose answer did not come."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

import httpx

from linearizability.history import Outcome, Seen

SECONDS = 0.5
"""How long a client waits for an answer. Faults last longer, so that answers are missed."""
PATIENCE = 60.0
"""How long a server that nothing is wrong with may take to do what it is asked."""
_ABOUT = {200: "ok", 201: "ok", 404: "absent"}
_NOTHING_DONE = {429, 503, 507}
"""The server says that the request changed nothing; 504 is not among them."""


class Answer(NamedTuple):
    """One request: when it began, when its answer came, and what that means."""

    start: float
    end: float
    code: int  # 0 if there was none
    outcome: Outcome
    body: dict[str, Any]


class Door:
    """The way to one server. `url` may change when the server starts again."""

    def __init__(self, number: int, url: str) -> None:
        self.number = number
        self.url = url
        self._client = httpx.AsyncClient(base_url=url, timeout=SECONDS, limits=httpx.Limits(max_connections=100))

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        start = time.monotonic()
        try:
            response = await self._client.request(method, path, json=body, **more)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):  # nothing was sent
            return Answer(start, time.monotonic(), 0, "failed", {})
        except httpx.HTTPError:
            return Answer(start, time.monotonic(), 0, "unknown", {})
        return Answer(start, time.monotonic(), response.status_code, outcome(response), response.json())

    async def insist(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer to a request that has to succeed, however often it takes. What is there already counts as made."""
        deadline = time.monotonic() + PATIENCE
        while (answer := await self.ask(method, path, body)).outcome not in {"ok", "exists"}:
            assert time.monotonic() < deadline, f"server {self.number} does not do it after {PATIENCE} s: {answer}"
            await asyncio.sleep(0.02)
        return answer

    def stream(self, path: str, **params: str) -> Any:
        """A watch. Reads wait for long, as there may be nothing to tell."""
        timeout = httpx.Timeout(WATCH_SECONDS)
        return self._client.stream("GET", path, params=params, timeout=timeout)


WATCH_SECONDS = 1.5
"""Without any event for so long, a watcher connects anew: a server that is paused does not end its connections."""


def outcome(response: httpx.Response) -> Outcome:
    """What an answer means for the request."""
    if response.status_code in _NOTHING_DONE:
        return "failed"
    if response.status_code == 409:
        return "exists" if response.json().get("reason") == "AlreadyExists" else "conflict"
    found = _ABOUT.get(response.status_code, "unknown")
    assert found in {"ok", "absent", "unknown"}
    return found  # type: ignore[return-value]


def seen(found: dict[str, Any]) -> Seen:
    """An object in an answer."""
    return Seen((found.get("data") or {}).get("value", ""), int(found["metadata"]["resourceVersion"]))
