"""Watchers that continue from their last version whenever a connection ends, at the next server if there is one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx

from linearizability.api_client import ApiClient, object_version
from linearizability.clients import KEY
from linearizability.history import Event, WatchLog

PAUSE = 0.05
"""Seconds before the next attempt if a server cannot be reached."""
RETRIED = {429, 500, 503, 504}
"""Codes of ERROR events that are temporary: the store does not answer, or this server has not reached the version yet."""


class Watcher:
    """Watches the ConfigMaps of one namespace. `connection_events` ends each connection after this number of events; 0: never."""

    def __init__(self, name: str, apis: list[ApiClient], *, namespace: str, after: int, connection_events: int = 0) -> None:
        self._apis = apis
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._connection_events = connection_events
        self._position = after
        self.seen = WatchLog(name=name, after=after, events=[], errors=[])

    async def wait_until_reached(self, version: int, seconds: float) -> None:
        """Waits until everything up to this version was received. Otherwise records an error of the history."""
        try:
            async with asyncio.timeout(seconds):
                while self._position < version:  # noqa: ASYNC110 - another task changes it
                    await asyncio.sleep(0.01)
        except TimeoutError:
            self.seen.errors.append(f"version {version} was not seen after {seconds} s, only {self._position}")
        self.seen.reached = min(version, self._position)
        self.seen.events = [event for event in self.seen.events if event.version <= version]

    async def run(self) -> None:
        """Watches until cancelled, at one server after the other."""
        while True:
            api = self._apis[self.seen.connections % len(self._apis)]
            self.seen.connections += 1
            try:
                async for event in self._events(api):
                    self._take(event)
            except (httpx.HTTPError, ConnectionError):
                await asyncio.sleep(PAUSE)

    async def _events(self, api: ApiClient) -> AsyncIterator[dict[str, Any]]:
        """Yields the events of one connection."""
        count = 0
        async with api.stream(self._path, watch="1", resourceVersion=str(self._position)) as response:
            async for line in response.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self._raise_error(event["object"])
                yield event
                count += 1
                if count == self._connection_events:
                    return

    def _raise_error(self, status: dict[str, Any]) -> None:
        if status["code"] not in RETRIED:
            self.seen.errors.append(f"the watch after {self._position} was refused: {status}")
        raise ConnectionError(status["message"])

    def _take(self, event: dict[str, Any]) -> None:
        now, name = object_version(event["object"]), event["object"]["metadata"]["name"]
        if name.startswith(KEY):
            self.seen.events.append(Event(event["type"], name, now.value, now.version, time.monotonic()))
        self._position = now.version
