"""The store as one server process sees it: slow at times, failing at times, and gone with the process.

It wraps a real store in memory. A write that was passed on is committed whether or not the process survives: its task belongs to
the disk, not to the process. So a crash leaves everything that was acknowledged, and perhaps more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context, ContextVar

from probate.core import errors
from probate.store.contract import (
    Batch,
    BatchHandler,
    CommitResult,
    Limits,
    Page,
    ReadResult,
    Record,
    Revision,
    Txn,
    UnchangedSince,
    Watch,
)
from probate.store.damaged_objects import DamagedObjects
from probate.store.sqlite.store import SqliteStore
from simulation.faults import Fate, FaultSchedule

ACTOR: ContextVar[str] = ContextVar("actor", default="nobody")
"""The actor of the current task: a controller or a client."""

WRITE_SECONDS = 0.001
"""The duration of a write where there are two leaders. They conflict while one of them lists what the other watches (for at most a
second); if writes took no time, that second would never pass."""

Written = Callable[[Sequence[Txn], Sequence[CommitResult], str], None]
"""Called with the outcome of each transaction that reached the disk, and its actor."""


class FaultyStore:
    """A store with these faults. `die` ends the process."""

    def __init__(
        self, inner: SqliteStore, faults: FaultSchedule, disk: Context, *, written: Written, die: Callable[[], None]
    ) -> None:
        self._inner = inner
        self._faults = faults
        self._disk = disk
        self._written = written
        self._die = die
        self._is_dead = False
        self.compacting: Callable[[Revision], None] = lambda _: None

    def cut_off(self) -> None:
        """Rejects everything from now on: the process is dead."""
        self._is_dead = True

    @property
    def limits(self) -> Limits:
        return self._inner.limits

    @property
    def damaged_objects(self) -> DamagedObjects:
        return self._inner.damaged_objects

    # --- reading --------------------------------------------------------------------------------------------------------

    async def _reach(self) -> None:
        """Delays or fails an operation."""
        delay = self._faults.delay()
        if delay is not None:
            await asyncio.sleep(delay)
        if self._is_dead or self._faults.happens(self._faults.rates.p_read_fails):
            raise errors.StoreUnavailable("the store does not answer")

    async def revision(self) -> Revision:
        await self._reach()
        return await self._inner.revision()

    def unchanged_since(self, prefix: str) -> UnchangedSince | None:
        return None if self._is_dead or self._faults.happens(0.1) else self._inner.unchanged_since(prefix)

    def confirmed_revision(self) -> Revision | None:
        return None if self._is_dead else self._inner.confirmed_revision()

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        await self._reach()
        return await self._inner.read(key, at=at)

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        await self._reach()
        return await self._inner.read_many(keys)

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        await self._reach()
        return await self._inner.scan(prefix, after=after, limit=limit, at=at)

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        await self._reach()
        return await self._inner.scan_many(prefixes, limit=limit)

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        await self._reach()
        return await self._inner.nonempty_ranges(prefixes)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        await self._reach()
        return await self._inner.count(prefix, after=after, at=at)

    async def child_prefixes(self, prefix: str) -> list[str]:
        await self._reach()
        return await self._inner.child_prefixes(prefix)

    async def revision_at(self, time: float) -> Revision | None:
        await self._reach()
        return await self._inner.revision_at(time)

    async def check(self) -> None:
        await self._reach()
        await self._inner.check()

    # --- writing --------------------------------------------------------------------------------------------------------

    async def commit(self, txn: Txn) -> CommitResult:
        return (await self._commit([txn]))[0]

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        return await self._commit(list(txns)) if txns else []

    async def _commit(self, txns: list[Txn]) -> list[CommitResult]:
        await self._reach()
        fate = self._faults.fate()
        if fate is Fate.REFUSED:
            raise errors.StoreUnavailable("the store does not take this now")
        if fate is Fate.FULL:
            raise errors.StoreFull("there is no room")
        if fate is Fate.FINE:
            outcomes = await self._write(txns)
            delay = self._faults.delay()
            if delay is not None:
                await asyncio.sleep(delay)
            return outcomes
        part = txns[: self._faults.part_of(len(txns))]
        if part:
            await self._write(part)
        if fate is Fate.UNKNOWN:
            raise errors.OutcomeUnknown("the connection broke")
        self._die()
        await asyncio.get_running_loop().create_future()  # a dead process waits until it is cleaned up
        raise AssertionError

    async def _write(self, txns: list[Txn]) -> list[CommitResult]:
        if self._faults.rates.leaders > 1:
            await asyncio.sleep(WRITE_SECONDS)
        actor = ACTOR.get()
        work = asyncio.get_running_loop().create_task(self._hand_down(txns, actor), context=self._disk.copy())
        return await asyncio.shield(work)

    async def _hand_down(self, txns: list[Txn], actor: str) -> list[CommitResult]:
        inner = self._inner
        try:
            outcomes = [await inner.commit(txns[0])] if len(txns) == 1 else await inner.commit_many(txns)
        except errors.StoreUnavailable:  # it was closed before this came to it
            if not self._is_dead:
                raise
            return []
        self._written(txns, outcomes, actor)
        return outcomes

    async def compact(self, before: Revision) -> None:
        await self._reach()
        self.compacting(before)
        await self._inner.compact(before)

    async def record_time(self, now: float) -> None:
        await self._reach()
        await self._inner.record_time(now)

    async def close(self) -> None:
        await self._inner.close()

    # --- watching -------------------------------------------------------------------------------------------------------

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        return self._watch(prefix, after)

    @asynccontextmanager
    async def _watch(self, prefix: str, after: Revision) -> AsyncGenerator[Watch, None]:
        await self._reach()
        async with self._inner.watch(prefix, after=after) as watch:
            yield FaultyWatch(watch, self._faults)


class FaultyWatch:
    """A watch whose batches arrive late, split, or not at all."""

    def __init__(self, inner: Watch, faults: FaultSchedule) -> None:
        self._inner = inner
        self._stream = aiter(inner)
        self._faults = faults
        self._held = Batch()  # received, and not yielded yet

    @property
    def revision(self) -> Revision:
        return Revision(self._held[0].revision - 1) if self._held else self._inner.revision

    def wake(self) -> None:
        self._inner.wake()

    def set_handler(self, handler: BatchHandler) -> None:
        self._inner.set_handler(lambda batch: not self._held and not self._faults.happens(0.3) and handler(batch))

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        if not self._held:
            self._held = await anext(self._stream)
        delay = self._faults.delay()
        if delay is not None:
            await asyncio.sleep(delay)
        if self._faults.happens(self._faults.rates.p_cut):
            raise self._cut()
        given, self._held = self._held, Batch()
        if self._faults.happens(0.3):
            number = max(1, self._faults.part_of(len(given)))
            given, self._held = Batch(given[:number]), Batch(given[number:])
        return given

    def _cut(self) -> Exception:
        if self._faults.happens(0.5):
            return errors.StoreUnavailable("the watch was cut")
        return errors.TooSlow("the watch was cut", revision=self.revision)
