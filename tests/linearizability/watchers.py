"""Watchers that go on where they were whenever a connection ends, at the next server if there is one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx

from linearizability.clients import KEY
from linearizability.door import Door, seen
from linearizability.history import Event, Watching

PAUSE = 0.05
"""Before the next attempt, if a server cannot be reached."""
RETRIED = {429, 500, 503, 504}
"""What an ERROR event may say that is over by itself: the store does not answer, or this server has not come so far yet."""


class Watcher:
    """Watches the ConfigMaps of one namespace. `connection_events` ends each connection after so many events; 0 never."""

    def __init__(self, name: str, doors: list[Door], *, namespace: str, after: int, connection_events: int = 0) -> None:
        self._doors = doors
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._most = connection_events
        self._position = after
        self.seen = Watching(name=name, after=after, events=[], errors=[])

    async def until_reached(self, version: int, seconds: float) -> None:
        """Wait until everything up to this version was seen. If it never is, that is an error of the history."""
        try:
            async with asyncio.timeout(seconds):
                while self._position < version:  # noqa: ASYNC110 - another task moves it
                    await asyncio.sleep(0.01)
        except TimeoutError:
            self.seen.errors.append(f"version {version} was not seen after {seconds} s, only {self._position}")
        self.seen.reached = min(version, self._position)
        self.seen.events = [event for event in self.seen.events if event.version <= version]

    async def run(self) -> None:
        """Watch until cancelled, at one server after the other."""
        while True:
            door = self._doors[self.seen.connections % len(self._doors)]
            self.seen.connections += 1
            try:
                async for event in self._events(door):
                    self._take(event)
            except (httpx.HTTPError, ConnectionError):
                await asyncio.sleep(PAUSE)

    async def _events(self, door: Door) -> AsyncIterator[dict[str, Any]]:
        """The events of one connection."""
        count = 0
        async with door.stream(self._path, watch="1", resourceVersion=str(self._position)) as response:
            async for line in response.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self._refused(event["object"])
                yield event
                count += 1
                if count == self._most:
                    return

    def _refused(self, status: dict[str, Any]) -> None:
        if status["code"] not in RETRIED:
            self.seen.errors.append(f"the watch after {self._position} was refused: {status}")
        raise ConnectionError(status["message"])

    def _take(self, event: dict[str, Any]) -> None:
        now, name = seen(event["object"]), event["object"]["metadata"]["name"]
        if name.startswith(KEY):
            self.seen.events.append(Event(event["type"], name, now.value, now.version, time.monotonic()))
        self._position = now.version
