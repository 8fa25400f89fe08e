"""The store as one server process sees it: slow at times, failing at times, and gone with the process.

Below it lies the real one, in memory. What has been handed down is written whether or not the process lives to see it: that is a
task of the disk's, not of the process. So a crash leaves what was acknowledged, and perhaps more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context, ContextVar

from probate.core import errors
from probate.store.contract import Batch, Calm, Found, Limits, Outcome, Page, Record, Revision, Sink, Txn, Watch
from probate.store.damage import Damage
from probate.store.sqlite.store import SqliteStore
from simulation.weather import Fate, Weather

ACTOR: ContextVar[str] = ContextVar("actor", default="nobody")
"""Who is at work in a task: a controller or a client."""

WRITE_SECONDS = 0.001
"""What a write takes where two lead. They write against each other while one of them lists anew what the other follows (a second at
most); if writes took no time, that second would never pass."""

Written = Callable[[Sequence[Txn], Sequence[Outcome], str], None]
"""Learns what became of each transaction that reached the disk, and who wanted it."""


class RoughStore:
    """A store in this weather. `die` ends the process."""

    def __init__(self, inner: SqliteStore, weather: Weather, disk: Context, written: Written, die: Callable[[], None]) -> None:
        self._inner = inner
        self._weather = weather
        self._disk = disk
        self._written = written
        self._die = die
        self._is_dead = False
        self.compacting: Callable[[Revision], None] = lambda _: None

    def cut_off(self) -> None:
        """The process is dead: nothing of it reaches the store any more."""
        self._is_dead = True

    @property
    def limits(self) -> Limits:
        return self._inner.limits

    @property
    def damage(self) -> Damage:
        return self._inner.damage

    # --- reading --------------------------------------------------------------------------------------------------------

    async def _reach(self) -> None:
        """Get through to the store, sooner or later or not at all."""
        delay = self._weather.delay()
        if delay is not None:
            await asyncio.sleep(delay)
        if self._is_dead or self._weather.happens(self._weather.climate.p_read_fails):
            raise errors.StoreUnavailable("the store does not answer")

    async def revision(self) -> Revision:
        await self._reach()
        return await self._inner.revision()

    def calm(self, prefix: str) -> Calm | None:
        return None if self._is_dead or self._weather.happens(0.1) else self._inner.calm(prefix)

    def confirmed(self) -> Revision | None:
        return None if self._is_dead else self._inner.confirmed()

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        await self._reach()
        return await self._inner.read(key, at=at)

    async def read_many(self, keys: Sequence[str]) -> list[Found]:
        await self._reach()
        return await self._inner.read_many(keys)

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        await self._reach()
        return await self._inner.scan(prefix, after=after, limit=limit, at=at)

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        await self._reach()
        return await self._inner.scan_many(prefixes, limit=limit)

    async def filled(self, prefixes: Sequence[str]) -> set[str]:
        await self._reach()
        return await self._inner.filled(prefixes)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        await self._reach()
        return await self._inner.count(prefix, after=after, at=at)

    async def folders(self, prefix: str) -> list[str]:
        await self._reach()
        return await self._inner.folders(prefix)

    async def revision_at(self, time: float) -> Revision | None:
        await self._reach()
        return await self._inner.revision_at(time)

    async def check(self) -> None:
        await self._reach()
        await self._inner.check()

    # --- writing --------------------------------------------------------------------------------------------------------

    async def commit(self, txn: Txn) -> Outcome:
        return (await self._commit([txn]))[0]

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        return await self._commit(list(txns)) if txns else []

    async def _commit(self, txns: list[Txn]) -> list[Outcome]:
        await self._reach()
        fate = self._weather.fate()
        if fate is Fate.REFUSED:
            raise errors.StoreUnavailable("the store does not take this now")
        if fate is Fate.FULL:
            raise errors.StoreFull("there is no room")
        if fate is Fate.FINE:
            outcomes = await self._write(txns)
            delay = self._weather.delay()
            if delay is not None:
                await asyncio.sleep(delay)
            return outcomes
        part = txns[: self._weather.part_of(len(txns))]
        if part:
            await self._write(part)
        if fate is Fate.UNKNOWN:
            raise errors.OutcomeUnknown("the connection broke")
        self._die()
        await asyncio.get_running_loop().create_future()  # a dead process waits for ever, until it is buried
        raise AssertionError

    async def _write(self, txns: list[Txn]) -> list[Outcome]:
        if self._weather.climate.leaders > 1:
            await asyncio.sleep(WRITE_SECONDS)
        actor = ACTOR.get()
        work = asyncio.get_running_loop().create_task(self._hand_down(txns, actor), context=self._disk.copy())
        return await asyncio.shield(work)

    async def _hand_down(self, txns: list[Txn], actor: str) -> list[Outcome]:
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

    async def note_time(self, now: float) -> None:
        await self._reach()
        await self._inner.note_time(now)

    async def close(self) -> None:
        await self._inner.close()

    # --- watching -------------------------------------------------------------------------------------------------------

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        return self._watch(prefix, after)

    @asynccontextmanager
    async def _watch(self, prefix: str, after: Revision) -> AsyncGenerator[Watch, None]:
        await self._reach()
        async with self._inner.watch(prefix, after=after) as watch:
            yield RoughWatch(watch, self._weather)


class RoughWatch:
    """A watch whose batches come late, in pieces, or not any more."""

    def __init__(self, inner: Watch, weather: Weather) -> None:
        self._inner = inner
        self._stream = aiter(inner)
        self._weather = weather
        self._held = Batch()  # come, and not handed out yet

    @property
    def revision(self) -> Revision:
        return Revision(self._held[0].revision - 1) if self._held else self._inner.revision

    def nudge(self) -> None:
        self._inner.nudge()

    def hand_to(self, sink: Sink) -> None:
        self._inner.hand_to(lambda batch: not self._held and not self._weather.happens(0.3) and sink(batch))

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        if not self._held:
            self._held = await anext(self._stream)
        delay = self._weather.delay()
        if delay is not None:
            await asyncio.sleep(delay)
        if self._weather.happens(self._weather.climate.p_cut):
            raise self._cut()
        given, self._held = self._held, Batch()
        if self._weather.happens(0.3):
            number = max(1, self._weather.part_of(len(given)))
            given, self._held = Batch(given[:number]), Batch(given[number:])
        return given

    def _cut(self) -> Exception:
        if self._weather.happens(0.5):
            return errors.StoreUnavailable("the watch was cut")
        return errors.TooSlow("the watch was cut", revision=self.revision)
