"""The whole server in the test's own process and loop: its store, its app, its collector. Asked by ASGI, without a socket.

async with running(clock=SystemClock()) as house:
    owner = await house.create("configmaps", "a", {"metadata": {"name": "owner"}})
    await house.ask("DELETE", "/api/v1/namespaces/a/configmaps/owner", {"propagationPolicy": "Foreground"})
    await house.rest()
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson

from probate.core.aio import tasks
from probate.core.aio.offload import Offload
from probate.core.clock import Clock, FakeClock, SystemClock
from probate.gc.backends.store.backend import World
from probate.gc.collector import Collector
from probate.kinds.builtin import catalog
from probate.server.admission import plugin_registry
from probate.server.app import App
from probate.server.bootstrap import namespaces
from probate.server.context import Api
from probate.server.kind_registry import Kinds
from probate.settings import Settings
from probate.store.contract import Store
from probate.store.sqlite.store import open_memory

OPEN = Settings(insecure=True)
"""Of a server where everybody may do anything: so it needs no roles."""


class Told(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class House:
    """One API on one store. Uids are numbered, so that what is made in the same order is called the same."""

    def __init__(self, store: Store, clock: Clock, offload: Offload | None = None) -> None:
        self.uids = itertools.count(1)
        self.store = store
        self.clock = clock
        self.api = Api(
            store,
            Kinds(store, catalog.load()),
            clock,
            new_uid=lambda: f"00000000-0000-4000-8000-{next(self.uids):012d}",
            random=random.Random(1),  # noqa: S311
            offload=offload,
        )
        self.app = App(self.api)
        self.collector = Collector(World(self.api), clock)
        self.api.readiness["collector"] = lambda: self.collector.trouble

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        accept: str = "application/json",
        media: str = "application/json",
        headers: Sequence[tuple[bytes, bytes]] = (),
        client: tuple[str, int] | None = None,
    ) -> Told:
        content = b"" if body is None else orjson.dumps(body)
        return await self.send(method, path, content, query=query, accept=accept, media=media, headers=headers, client=client)

    async def send(
        self,
        method: str,
        path: str,
        content: bytes,
        *,
        query: Mapping[str, Any] | None = None,
        accept: str = "application/json",
        media: str = "application/json",
        headers: Sequence[tuple[bytes, bytes]] = (),
        client: tuple[str, int] | None = None,
    ) -> Told:
        """Ask with a body as it goes on the wire."""
        sent: list[Any] = []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": urlencode(query or {}, doseq=True).encode(),
            "headers": [(b"accept", accept.encode()), (b"content-type", media.encode()), *headers],
            "client": client,
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Told(sent[0]["status"], told, sent[1]["body"])

    async def create(self, resource: str, namespace: str, object_: Any) -> Any:
        """Create an object at `configmaps` or `apis/apps/v1/replicasets`; returns it as the server did."""
        folder, _, plural = resource.rpartition("/")
        within = f"namespaces/{namespace}/" if namespace else ""
        told = await self.ask("POST", f"/{folder or 'api/v1'}/{within}{plural}", object_)
        assert told.code == 201, told.body
        return told.json

    async def turns(self, number: int = 200) -> None:
        """Let everybody go on for a while, in which no time passes."""
        for _ in range(number):
            await asyncio.sleep(0)

    async def rest(self) -> None:
        """Wait until the collector has seen everything and has nothing left to do. (Not with a clock that stands still.)"""
        while self.collector.seen < await self.store.revision() or not self.collector.is_idle:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(
    store: Store | None = None,
    clock: Clock | None = None,
    *,
    collects: bool = True,
    offload: Offload | None = None,
    admission: Collection[str] = (),
) -> AsyncGenerator[House, None]:
    """A server, with its collector at work if it `collects`, and a namespace `default`."""
    opened = store or await open_memory()
    house = House(opened, clock or SystemClock(), offload)
    await namespaces.ensure_namespaces(house.api)
    await house.api.kinds.refresh(now=house.api.now())
    await plugin_registry.install(house.api, admission)
    failures: list[BaseException] = []
    working = [tasks.guard(house.collector.run(), name="collector", on_failure=failures.append)] if collects else []
    try:
        yield house
    finally:
        await tasks.stop(*working)
        await house.api.close()
        await opened.close()
    assert not failures, failures


__all__ = ["OPEN", "FakeClock", "House", "Told", "running"]
