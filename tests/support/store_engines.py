"""All storage engines behind one interface, so that a test can open, close and reopen the store of each.

Each test gets an `Engine` with its own data. Closing the store and opening the engine again is a restart.
The model is one of the engines: the oracle of the state machine must itself pass the contract tests.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from probate.core import errors
from probate.core.clock import SystemClock
from probate.store import argument_checks, contract, damaged_objects, keys, watch_hub
from probate.store.contract import CommitResult, Page, ReadResult, Record, Revision, Store, Txn, Watch
from probate.store.etcd import store as etcd
from probate.store.etcd.rpc import address
from probate.store.sqlite import database
from probate.store.sqlite import store as sqlite
from probate.tenants.ownership.ownership_store import OwnershipStore
from support import store_model

DEFAULT_BUFFER = watch_hub.WatchBuffer()

_numbers = itertools.count()


class Engine(Protocol):
    """Data that outlives the store it is opened as."""

    has_gaps: bool
    """Whether the store's revision may be ahead of its newest transaction's."""

    async def open(self, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> Store: ...


@asynccontextmanager
async def open_store(engine: Engine, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> AsyncIterator[Store]:
    """Yields the engine's store and closes it afterwards."""
    store = await engine.open(buffer=buffer)
    try:
        yield store
    finally:
        await store.close()


class Memory:
    """SQLite in memory: each store opens the database that the previous one left."""

    has_gaps = False

    def __init__(self) -> None:
        self._database: database.Database | None = None

    async def open(self, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> Store:
        store = await sqlite.open_memory(self._database, buffer=buffer)
        self._database = store.database
        return store


class Owned(Memory):
    """SQLite in memory, under the layer that records the tenants of objects."""

    async def open(self, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> Store:
        return OwnershipStore(await super().open(buffer=buffer))


class File:
    """SQLite in a file."""

    has_gaps = False

    def __init__(self, directory: Path) -> None:
        self._path = directory / "probate.db"

    async def open(self, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> Store:
        return await sqlite.open_file(self._path, buffer=buffer)


class Etcd:
    """A separate root in an etcd that many tests share."""

    has_gaps = True

    def __init__(self, endpoint: str) -> None:
        self._address = address.parse(f"etcd://{endpoint}/test-{next(_numbers)}")

    async def open(self, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> Store:
        return await etcd.open_etcd(self._address, clock=SystemClock(), process=f"process-{next(_numbers)}", buffer=buffer)


class ModelEngine:
    """The oracle, as an engine."""

    has_gaps = False

    def __init__(self) -> None:
        self._model = store_model.Model(Revision(1))

    async def open(self, *, buffer: watch_hub.WatchBuffer = DEFAULT_BUFFER) -> Store:
        return ModelStore(self._model, buffer)


class ModelStore:
    """The model as a store of the contract: adds argument checks, closing and watches."""

    def __init__(self, model: store_model.Model, buffer: watch_hub.WatchBuffer) -> None:
        self.limits = contract.Limits(key_bytes=keys.MAX_BYTES, value_bytes=1_000_000, entries=100, guards=50, page_size=1000)
        self.damaged_objects = damaged_objects.DamagedObjects()
        self._model = model
        self._hub = watch_hub.WatchHub(model.revision, buffer)
        self._is_closed = False

    async def revision(self) -> Revision:
        return self._open_model().revision

    def unchanged_since(self, prefix: str) -> contract.UnchangedSince | None:
        argument_checks.check_watch(prefix)
        changes = [change.revision for change in self._open_model().changes if change.key.startswith(prefix)]
        return contract.UnchangedSince(max(changes, default=contract.NO_REVISION), self._model.revision)

    def confirmed_revision(self) -> Revision | None:
        return None if self._is_closed else self._hub.revision

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        keys.check_key(key)
        argument_checks.check_at(key, at)
        return self._open_model().read(key, at=at)

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        if len(keys) > self.limits.page_size:
            raise errors.TooLarge(f"{len(keys)} keys are too many")
        return [await self.read(key) for key in keys]

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        argument_checks.check_scan_many(prefixes, limit, self.limits)
        return [await self.scan(prefix, limit=limit) for prefix in prefixes]

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        argument_checks.check_scan_many(prefixes, 1, self.limits)
        return {prefix for prefix in prefixes if self._open_model().count(prefix, after="")}

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        argument_checks.check_scan(prefix, after, limit, limits=self.limits)
        argument_checks.check_at(prefix, at)
        return self._open_model().scan(prefix, after=after, limit=limit, at=at)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        argument_checks.check_scan(prefix, after, 1, limits=self.limits)
        argument_checks.check_at(prefix, at)
        return self._open_model().count(prefix, after=after, at=at)

    async def child_prefixes(self, prefix: str) -> list[str]:
        keys.check_prefix(prefix)
        return self._open_model().child_prefixes(prefix)

    async def commit(self, txn: Txn) -> CommitResult:
        return (await self.commit_many([txn]))[0]

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        for txn in txns:
            argument_checks.check_txn(txn, self.limits)
        return [self._commit(txn, self._open_model()) for txn in txns]

    def _commit(self, txn: Txn, model: store_model.Model) -> CommitResult:
        failed = model.failed_guards(txn)
        if failed:
            return contract.FailedGuards(failed)
        model.apply(txn, Revision(model.revision + 1))
        self._hub.publish([model.changes[-1]], revision=model.revision)
        return model.revision

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        argument_checks.check_watch(prefix)
        self._open_model().check_available(after)
        return watch_hub.HubWatch(self._hub, self._history, prefix, after=after)

    async def _history(self, prefix: str, after: Revision) -> AsyncGenerator[watch_hub.HistoryChunk, None]:
        model = self._open_model()
        yield model.events(prefix, after=after), model.revision

    async def compact(self, before: Revision) -> None:
        self._open_model().compact(before)

    async def record_time(self, now: float) -> None:
        self._open_model().record_time(now)

    async def revision_at(self, time: float) -> Revision | None:
        return self._open_model().revision_at(time)

    async def check(self) -> None:
        self._open_model()

    async def close(self) -> None:
        self._is_closed = True
        self._hub.end_all(errors.StoreUnavailable("the store is closed"))

    def _open_model(self) -> store_model.Model:
        if self._is_closed:
            raise errors.StoreUnavailable("the store is closed")
        return self._model
