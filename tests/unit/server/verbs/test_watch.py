"""Watches over time: bookmarks, and the requested timeout."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.server import app as server_app
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.sqlite.store import open_memory
from support import bootstrap

PATH = "/api/v1/namespaces/default/configmaps"


class Watcher:
    """Watches the app in this process and collects the events."""

    def __init__(self, app: server_app.App, query: str) -> None:
        self.events: list[tuple[str, str]] = []
        scope = {"type": "http", "method": "GET", "path": PATH, "query_string": query.encode(), "headers": []}
        self.watching = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def _send(self, message: Any) -> None:
        for line in message.get("body", b"").splitlines():
            event = orjson.loads(line)
            self.events.append((event["type"], event["object"]["metadata"].get("name", "")))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def app(clock: FakeClock) -> AsyncIterator[server_app.App]:
    store = await open_memory()
    kinds = KindRegistry(store, catalog.load())
    api = ServerContext(store, kinds, clock, new_uid=lambda: str(uuid.uuid4()), random=random.Random(1))  # noqa: S311
    await bootstrap.ensure_namespaces(api)
    yield server_app.App(api)
    await store.close()


async def create(app: server_app.App, name: str) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": orjson.dumps({"metadata": {"name": name}})}

    async def send(message: Any) -> None:
        assert message.get("status", 201) == 201

    await app({"type": "http", "method": "POST", "path": PATH, "query_string": b"", "headers": []}, receive, send)


async def test_bookmarks_are_sent_each_minute_and_at_the_end(app: server_app.App, clock: FakeClock) -> None:
    watcher = Watcher(app, "watch=1&allowWatchBookmarks=1&timeoutSeconds=90")
    await clock.advance(59.0)
    await create(app, "a")
    await clock.advance(0.5)
    assert watcher.events == [("ADDED", "a")]
    await clock.advance(0.5)
    assert watcher.events == [("ADDED", "a"), ("BOOKMARK", "")]
    await clock.advance(29.0)
    assert not watcher.watching.done()
    await clock.advance(1.0)
    assert watcher.events == [("ADDED", "a"), ("BOOKMARK", ""), ("BOOKMARK", "")]
    assert watcher.watching.done()


async def test_watch_without_bookmarks_gets_none_and_ends_in_time(app: server_app.App, clock: FakeClock) -> None:
    watcher = Watcher(app, "watch=1&timeoutSeconds=130")
    await clock.advance(129.0)
    assert (watcher.events, watcher.watching.done()) == ([], False)
    await clock.advance(1.0)
    assert (watcher.events, watcher.watching.done()) == ([], True)


async def test_watchers_with_the_same_selector_get_the_same_events_and_others_their_own(
    app: server_app.App, clock: FakeClock
) -> None:
    whole = [Watcher(app, "watch=1") for _ in range(2)]
    one = Watcher(app, "watch=1&fieldSelector=metadata.name%3Db")
    await clock.advance(0.0)
    for name in "abc":
        await create(app, name)
    await clock.advance(0.0)
    assert [watcher.events for watcher in whole] == [[("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]] * 2
    assert one.events == [("ADDED", "b")]
    for watcher in (*whole, one):
        watcher.watching.cancel()
    await asyncio.wait([watcher.watching for watcher in (*whole, one)])
