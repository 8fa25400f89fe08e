"""An API with the controller of namespaces or CRDs on a store that can fail, and whose objects can be damaged."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from probate.controllers.manager import store_backend
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import Scope, ScopeDeletion
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.contract import CommitResult as Committed
from probate.store.contract import ReadResult, Store, Txn
from probate.tenants.ownership.ownership_store import OwnershipStore
from support.wait_for_objects import condition

NAMESPACES = "/api/v1/namespaces"
_DAMAGE = "UPDATE log SET value = CAST('?' || substr(value, 2) AS BLOB) WHERE rev = ?"


class FailingStore:
    """A store that fails to delete one key or to count, and delays writes of others, while the test says so. It counts what it
    reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.undeletable = ""
        self.cannot_count = False
        self.slow = ""  # what keys begin with whose writing takes until `goes_on`
        self.is_writing = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.reads: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read_many(self, keys: list[str]) -> list[ReadResult]:
        self.reads += keys
        return await self._store.read_many(keys)

    async def count(self, prefix: str) -> int:
        if self.cannot_count:
            raise errors.StoreUnavailable("the store does not answer")
        return await self._store.count(prefix)

    async def commit(self, txn: Txn) -> Committed:
        self._check(txn)
        if self.slow and txn.key.startswith(self.slow):
            self.is_writing.set()
            await self.goes_on.wait()
        return await self._store.commit(txn)

    async def commit_many(self, txns: list[Txn]) -> list[Committed]:
        for txn in txns:
            self._check(txn)
        return await self._store.commit_many(txns)

    async def damage(self, key: str) -> None:
        """Changes the stored value of an object, without the knowledge of the server."""
        record = await self._store.read(key)
        assert record is not None
        self.database.writer.execute(_DAMAGE, (record.revision,))

    def _check(self, txn: Txn) -> None:
        if txn.key == self.undeletable and txn.value is None:
            raise errors.StoreUnavailable("the store does not answer")


class Site:
    """One server with the controller, and its clock. Several can share a store."""

    def __init__(self, store: FailingStore, clock: FakeClock, scope: Scope | None = None) -> None:
        self.store = store
        self.clock = clock
        owned = OwnershipStore(store)  # type: ignore[arg-type]
        kinds = KindRegistry(owned, catalog.load())
        chooser = random.Random(1)  # noqa: S311
        self.api = ServerContext(owned, kinds, clock, new_uid=lambda: str(uuid.uuid4()), random=chooser, tenancy=owned.tenancy)
        self.backend = store_backend(self.api)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(App(self.api)), base_url="http://here")
        deletion = ScopeDeletion(scope or Namespaces(), self.backend, clock)
        self.loop = ChangeFeedLoop("namespaces", deletion, self.backend, clock=clock)

    async def make(self, path: str, name: str, **meta: Any) -> None:
        answer = await self.http.post(path, json={"metadata": {"name": name, **meta}})
        assert answer.status_code == 201, answer.text

    async def release(self, path: str) -> None:
        patch, media = {"metadata": {"finalizers": None}}, {"Content-Type": "application/merge-patch+json"}
        assert (await self.http.patch(path, json=patch, headers=media)).status_code == 200

    async def namespace(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.http.get(f"{NAMESPACES}/a")).json()
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        running = asyncio.ensure_future(self.loop.run())
        try:
            yield
        finally:
            await tasks.stop(running)


async def until(site: Site, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Returns the namespace, or the Status of a failed GET, once `holds` is true for it."""
    async with asyncio.timeout(60), site.store.watch("objects/", after=await site.store.revision()) as changes:
        while not holds(now := await site.namespace()):
            await anext(aiter(changes))
        return now


async def until_is(site: Site, kind: str, status: str) -> dict[str, Any]:
    return condition(await until(site, lambda now: condition(now, kind).get("status") == status), kind)


async def until_gone(site: Site) -> None:
    await until(site, lambda now: now.get("code") == 404)


async def settle() -> None:
    """Lets all tasks run that are ready."""
    for _ in range(200):
        await asyncio.sleep(0)
