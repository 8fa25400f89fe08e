"""InProcessServer: a whole server (store, ASGI app, collector) in the test's process and event loop. Requests use ASGI, no socket.

async with running(clock=SystemClock()) as server:
    owner = await server.create("configmaps", "a", {"metadata": {"name": "owner"}})
    await server.request("DELETE", "/api/v1/namespaces/a/configmaps/owner", {"propagationPolicy": "Foreground"})
    await server.wait_until_idle()
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

from probate.app import admission_plugins
from probate.controllers.manager import store_backend
from probate.core.aio import tasks
from probate.core.clock import Clock, FakeClock, SystemClock
from probate.gc.collector import Collector
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.settings import Settings
from probate.store.contract import Store
from probate.store.sqlite.store import open_memory
from probate.tenants.ownership.ownership_store import OwnershipStore
from support import bootstrap

INSECURE = Settings(insecure=True)
"""Settings of a server without authentication and authorization, which needs no RBAC roles."""


class Response(NamedTuple):
    """A response that a test received."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class InProcessServer:
    """One server on one store. Uids are numbered: creating the same objects in the same order gives the same uids."""

    def __init__(self, store: Store, clock: Clock, **options: Any) -> None:
        self.uids = itertools.count(1)
        self.engine = store
        self.store = OwnershipStore(store)
        self.clock = clock
        self.api = ServerContext(
            self.store,
            KindRegistry(self.store, catalog.load()),
            clock,
            new_uid=lambda: f"00000000-0000-4000-8000-{next(self.uids):012d}",
            random=random.Random(1),  # noqa: S311
            tenancy=self.store.tenancy,
            **options,
        )
        self.app = App(self.api)
        self.collector = Collector(store_backend(self.api), clock)
        self.api.readiness_checks["garbage-collector-controller"] = lambda: self.collector.trouble

    async def request(
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
    ) -> Response:
        """Sends a request with a JSON body."""
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
    ) -> Response:
        """Sends a request with a raw body."""
        messages: list[Any] = []
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
            messages.append(message)

        await self.app(scope, receive, send)
        response_headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        return Response(messages[0]["status"], response_headers, messages[1]["body"])

    async def create(self, resource: str, namespace: str, object_: Any) -> Any:
        """Creates an object of a resource such as `configmaps` or `apis/apps/v1/replicasets`, and returns the server's response."""
        folder, _, plural = resource.rpartition("/")
        within = f"namespaces/{namespace}/" if namespace else ""
        response = await self.request("POST", f"/{folder or 'api/v1'}/{within}{plural}", object_)
        assert response.code == 201, response.body
        return response.json

    async def yield_to_loop(self, number: int = 200) -> None:
        """Yields to the event loop this many times. The clock does not advance."""
        for _ in range(number):
            await asyncio.sleep(0)

    async def wait_until_idle(self) -> None:
        """Waits until the collector has processed all changes and is idle. Does not work with a clock that stands still."""
        while self.collector.revision < await self.store.revision() or not self.collector.is_idle:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(
    store: Store | None = None,
    clock: Clock | None = None,
    *,
    collects: bool = True,
    admission: Collection[str] = (),
    **options: Any,
) -> AsyncGenerator[InProcessServer, None]:
    """Runs a server with a namespace `default`. `collects`: its collector runs. `options` are those of `ServerContext`."""
    opened_store = store or await open_memory()
    server = InProcessServer(opened_store, clock or SystemClock(), **options)
    await bootstrap.ensure_namespaces(server.api)
    await server.api.kinds.refresh(now=server.api.timestamp())
    await admission_plugins.install(server.api, admission)
    failures: list[BaseException] = []
    collector_tasks = (
        [tasks.start_supervised(server.collector.run(), name="collector", on_failure=failures.append)] if collects else []
    )
    try:
        yield server
    finally:
        await tasks.stop(*collector_tasks)
        await server.api.close()
        await opened_store.close()
    assert not failures, failures


__all__ = ["INSECURE", "FakeClock", "InProcessServer", "Response", "running"]
