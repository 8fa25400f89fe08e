"""A tenant's view as an engine of the contract tests, on a store that keeps the index of what tenants have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from probate.api import tenants
from probate.api.catalog import Catalog, Resource
from probate.core.aio import tasks
from probate.kinds.builtin import catalog
from probate.store import watch_hub
from probate.store.contract import NO_REVISION, CommitResult, Revision, Store, Txn
from probate.tenants.store_view import shared_objects
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.tenant_store import TenantStore
from support import store_engines

TENANT = "111111"
_MANY = Resource(group="", version="v1", plural="many", kind="Many", singular="many", is_namespaced=True, verbs=(), is_custom=True)
KINDS = Catalog([*catalog.load(), _MANY])
"""The kinds of the standalone tenant: with one whose objects the contract tests delete and then list as they were."""


class IndexedStore:
    """Adds the entries `tenant/<id>/<key>` for the tenants in the key of a new object, and removes them with the object."""

    def __init__(self, store: Store) -> None:
        self._store = store
        limits = store.limits
        self.limits = msgspec.structs.replace(limits, entries=limits.entries - 2)
        self._entries: dict[str, list[str]] = {}  # as added, because the values of deleted objects are not known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, txn: Txn) -> CommitResult:
        return await self._store.commit(self._with_entries(txn))

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        return await self._store.commit_many([self._with_entries(txn) for txn in txns])

    def _with_entries(self, txn: Txn) -> Txn:
        if txn.value is None:
            entries = self._entries.get(txn.key) or _entries_of(txn)
            return msgspec.structs.replace(txn, remove_entries=(*txn.remove_entries, *entries))
        if txn.expected_revision != NO_REVISION:
            return txn
        self._entries[txn.key] = _entries_of(txn)
        return msgspec.structs.replace(txn, add_entries=(*txn.add_entries, *self._entries[txn.key]))


def _entries_of(txn: Txn) -> list[str]:
    parts = txn.key.split("/")
    found = {tenants.id_in_name(part) for part in (parts[1].partition(".")[2], *parts[2:4], parts[-1].partition(".")[2])}
    owners = {*found, shared_objects.tenant_of(txn.value or b"")} - {""}
    return [tenants.content_entry(tenant, txn.key) for tenant in sorted(owners)]


class Cluster(NamedTuple):
    """A physical store, and the views of its tenants."""

    physical: Any
    platform: PlatformObjects

    def view(self, tenant: str = TENANT, kinds: Catalog = KINDS) -> TenantStore:
        return TenantStore(self.physical, tenant, self.platform, kinds=lambda: kinds)


@asynccontextmanager
async def cluster(*, follows: bool = True) -> AsyncIterator[Cluster]:
    """Yields a cluster on a store in memory. `follows`: it knows at once what the platform shares."""
    physical: Any = IndexedStore(await store_engines.Memory().open())
    platform = PlatformObjects(physical)
    await platform.load()
    async with AsyncExitStack() as stack:
        if follows:
            await stack.enter_async_context(following(platform))
        yield Cluster(physical, platform)
    await physical.close()


@asynccontextmanager
async def following(platform: PlatformObjects) -> AsyncIterator[None]:
    """Follows what the platform shares for the duration of the block."""
    task = asyncio.create_task(platform.follow(_never))
    for _ in range(20):
        await asyncio.sleep(0)
    try:
        yield
    finally:
        await tasks.stop(task)


async def _never() -> None:
    await asyncio.Event().wait()


class TenantEngine:
    """The view of one tenant on a store in memory, in which nobody else writes. It may be compacted, unlike those of a server."""

    has_gaps = False

    def __init__(self) -> None:
        self._memory = store_engines.Memory()

    async def open(self, *, buffer: watch_hub.WatchBuffer = store_engines.DEFAULT_BUFFER) -> Store:
        store: Any = IndexedStore(await self._memory.open(buffer=buffer))
        return _StandaloneTenantStore(store, TENANT, PlatformObjects(store), kinds=lambda: KINDS)


class _StandaloneTenantStore(TenantStore):
    async def compact(self, before: Revision) -> None:
        await self._store.compact(before)

    async def record_time(self, now: float) -> None:
        await self._store.record_time(now)

    async def close(self) -> None:
        await super().close()
        await self._store.close()
