"""Every engine under one roof: where its data lives, and how to open it, again and again.

Each test gets an `Engine` with data of its own. Closing the store and opening the engine once more is a restart.
The model is one of them: the oracle of the state machine has to pass the contract suite itself.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from probate.core import errors
from probate.core.clock import SystemClock
from probate.store import call_checks, contract, damage, hub, keys
from probate.store.contract import Found, Outcome, Page, Record, Revision, Store, Txn, Watch
from probate.store.etcd import store as etcd
from probate.store.etcd.rpc import address
from probate.store.sqlite import database
from probate.store.sqlite import store as sqlite
from support import store_model

AMPLE = hub.Buffer()

_numbers = itertools.count()


class Engine(Protocol):
    """Data that outlives the store it is opened as."""

    has_gaps: bool
    """Whether the store's revision may be ahead of its newest transaction's."""

    async def open(self, *, buffer: hub.Buffer = AMPLE) -> Store: ...


@asynccontextmanager
async def opened(engine: Engine, *, buffer: hub.Buffer = AMPLE) -> AsyncIterator[Store]:
    """The engine's store, closed afterwards."""
    store = await engine.open(buffer=buffer)
    try:
        yield store
    finally:
        await store.close()


class Memory:
    """SQLite in memory: what a closed store leaves behind is what the next one opens."""

    has_gaps = False

    def __init__(self) -> None:
        self._left: database.Database | None = None

    async def open(self, *, buffer: hub.Buffer = AMPLE) -> Store:
        store = await sqlite.open_memory(self._left, buffer=buffer)
        self._left = store.database
        return store


class File:
    """SQLite in a file."""

    has_gaps = False

    def __init__(self, directory: Path) -> None:
        self._path = directory / "probate.db"

    async def open(self, *, buffer: hub.Buffer = AMPLE) -> Store:
        return await sqlite.open_file(self._path, buffer=buffer)


class Etcd:
    """A root of its own in an etcd that many tests share."""

    has_gaps = True

    def __init__(self, endpoint: str) -> None:
        self._address = address.parse(f"etcd://{endpoint}/test-{next(_numbers)}")

    async def open(self, *, buffer: hub.Buffer = AMPLE) -> Store:
        return await etcd.open_etcd(self._address, clock=SystemClock(), process=f"process-{next(_numbers)}", buffer=buffer)


class ModelEngine:
    """The oracle, as an engine."""

    has_gaps = False

    def __init__(self) -> None:
        self._model = store_model.Model(Revision(1))

    async def open(self, *, buffer: hub.Buffer = AMPLE) -> Store:
        return ModelStore(self._model, buffer)


class ModelStore:
    """The model behind the contract's door: checks, closing and watching come with it."""

    def __init__(self, model: store_model.Model, buffer: hub.Buffer) -> None:
        self.limits = contract.Limits(key_bytes=keys.MAX_BYTES, value_bytes=1_000_000, entries=100, guards=50, page=1000)
        self.damage = damage.Damage()
        self._model = model
        self._hub = hub.Hub(model.revision, buffer)
        self._closed = False

    async def revision(self) -> Revision:
        return self._open().revision

    def calm(self, prefix: str) -> contract.Calm | None:
        call_checks.check_watch(prefix)
        changes = [change.revision for change in self._open().changes if change.key.startswith(prefix)]
        return contract.Calm(max(changes, default=contract.NOTHING), self._model.revision)

    def confirmed(self) -> Revision | None:
        return None if self._closed else self._hub.revision

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        keys.check_key(key)
        call_checks.check_at(key, at)
        return self._open().read(key, at=at)

    async def read_many(self, keys: Sequence[str]) -> list[Found]:
        if len(keys) > self.limits.page:
            raise errors.TooLarge(f"{len(keys)} keys are too many")
        return [await self.read(key) for key in keys]

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        call_checks.check_scan_many(prefixes, limit, self.limits)
        return [await self.scan(prefix, limit=limit) for prefix in prefixes]

    async def filled(self, prefixes: Sequence[str]) -> set[str]:
        call_checks.check_scan_many(prefixes, 1, self.limits)
        return {prefix for prefix in prefixes if self._open().count(prefix, after="")}

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        call_checks.check_scan(prefix, after, limit, self.limits)
        call_checks.check_at(prefix, at)
        return self._open().scan(prefix, after=after, limit=limit, at=at)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        call_checks.check_scan(prefix, after, 1, self.limits)
        call_checks.check_at(prefix, at)
        return self._open().count(prefix, after=after, at=at)

    async def folders(self, prefix: str) -> list[str]:
        keys.check_prefix(prefix)
        return self._open().folders(prefix)

    async def commit(self, txn: Txn) -> Outcome:
        return (await self.commit_many([txn]))[0]

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        for txn in txns:
            call_checks.check_txn(txn, self.limits)
        return [self._commit(txn, self._open()) for txn in txns]

    def _commit(self, txn: Txn, model: store_model.Model) -> Outcome:
        failed = model.failed_guards(txn)
        if failed:
            return contract.Refused(failed)
        model.apply(txn, Revision(model.revision + 1))
        self._hub.publish([model.changes[-1]], revision=model.revision)
        return model.revision

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        call_checks.check_watch(prefix)
        self._open().check_kept(after)
        return hub.HubWatch(self._hub, self._history, prefix, after)

    async def _history(self, prefix: str, after: Revision) -> AsyncGenerator[hub.Chapter, None]:
        model = self._open()
        yield model.events(prefix, after=after), model.revision

    async def compact(self, before: Revision) -> None:
        self._open().compact(before)

    async def note_time(self, now: float) -> None:
        self._open().note_time(now)

    async def revision_at(self, time: float) -> Revision | None:
        return self._open().revision_at(time)

    async def check(self) -> None:
        self._open()

    async def close(self) -> None:
        self._closed = True
        self._hub.break_off(errors.StoreUnavailable("the store is closed"))

    def _open(self) -> store_model.Model:
        if self._closed:
            raise errors.StoreUnavailable("the store is closed")
        return self._model
