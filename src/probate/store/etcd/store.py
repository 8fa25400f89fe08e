"""The distributed engine: the contract on etcd.

Any number of servers may use one etcd. Each sees the others' changes in its watches, and all are bound by the same guards,
since etcd itself evaluates them. An etcd that does not answer is waited for within each call's time and then reported as
`StoreUnavailable`; watches stay open meanwhile and go on by themselves once it is back. How old the view that watches give
may be is bounded: `currency` compares it with etcd every second, and `confirmed` says whether it is known to be recent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.store import call_checks, keys
from probate.store.contract import Calm, Damaged, Found, Limits, Outcome, Page, Record, Revision, Txn, Watch
from probate.store.damage import Damage
from probate.store.etcd import layout_version, messages
from probate.store.etcd.compaction import Past
from probate.store.etcd.feed import Feed, tick
from probate.store.etcd.freshness import Currency
from probate.store.etcd.layout import Layout
from probate.store.etcd.reads import Reads
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc.address import Address
from probate.store.etcd.rpc.members import Endpoints
from probate.store.etcd.write_slots import Slots
from probate.store.etcd.writes import Writes
from probate.store.hub import Buffer, Hub, HubWatch


class Timeouts(NamedTuple):
    """How many seconds a call waits for etcd before it gives up."""

    connect: float = 10.0
    read: float = 5.0
    write: float = 10.0
    stale: float = 5.0  # how old the view that watches give may be (see `currency`)


async def open_etcd(
    address: Address, *, clock: Clock, process: str, buffer: Buffer | None = None, timeouts: Timeouts | None = None
) -> EtcdStore:
    """The store at this address. `process` names this process as no other one is or was ever named.

    `CannotOpen` if etcd does not answer within the time to connect, and `StoreFull` if it takes no writes.
    """
    keys.check_key(f"slots/{process}/1")
    timeouts = timeouts or Timeouts()
    endpoints, layout = Endpoints(address, clock), Layout(address.root)
    try:
        revision = await tick(endpoints, layout, seconds=timeouts.connect)
        await layout_version.check(endpoints, layout, seconds=timeouts.connect)
    except BaseException as error:
        await endpoints.close()
        if isinstance(error, errors.StoreUnavailable):
            raise errors.CannotOpen(f"the store {address} cannot be opened: {error}") from error
        raise
    return EtcdStore(endpoints, layout, Hub(revision, buffer or Buffer()), process=process, timeouts=timeouts)


class EtcdStore:
    """An open store on etcd. Made by `open_etcd`."""

    def __init__(self, endpoints: Endpoints, layout: Layout, hub: Hub, *, process: str, timeouts: Timeouts) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._hub = hub
        self._timeouts = timeouts
        self._slots = Slots(endpoints, layout, process)
        self._writes = Writes(endpoints, layout, self._slots, seconds=timeouts.write)
        self._reads = Reads(endpoints, layout, seconds=timeouts.read)
        self._past = Past(endpoints, layout, self._slots, seconds=timeouts.write)
        self.damage = Damage()
        self._feed = Feed(endpoints, layout, hub, self.damage)
        self._currency = Currency(endpoints, layout, self._feed, seconds=timeouts.stale)
        self._failure: errors.ApiError | None = None
        self._closing: asyncio.Task[None] | None = None
        self._tasks = (
            tasks.guard(self._feed.run(), name="etcd feed", on_failure=self._break),
            tasks.guard(self._currency.run(), name="etcd currency", on_failure=self._break),
        )

    @property
    def limits(self) -> Limits:
        return messages.LIMITS

    async def revision(self) -> Revision:
        self._check_is_open()
        return await self._reads.revision()

    def calm(self, prefix: str) -> Calm | None:
        self._check_is_open()
        call_checks.check_watch(prefix)
        return None  # others write too

    def confirmed(self) -> Revision | None:
        return None if self._failure is not None else self._currency.confirmed()

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        self._check_is_open()
        keys.check_key(key)
        call_checks.check_at(key, at)
        with self._learning(at):
            return self.damage.readable(await self._reads.record(key, at))

    async def read_many(self, wanted: Sequence[str]) -> list[Found]:
        self._check_is_open()
        call_checks.check_read_many(wanted, messages.LIMITS)
        found = await self._reads.records(wanted)
        self.damage.note(one for one in found if isinstance(one, Damaged))
        return found

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        self._check_is_open()
        call_checks.check_scan(prefix, after, limit, messages.LIMITS)
        call_checks.check_at(prefix, at)
        with self._learning(at):
            page = await self._reads.page(prefix, after, limit, at)
        self.damage.note(page.damaged)
        return page

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        self._check_is_open()
        call_checks.check_scan_many(prefixes, limit, messages.LIMITS)
        pages = await self._reads.pages(prefixes, limit)
        self.damage.note(one for page in pages for one in page.damaged)
        return pages

    async def filled(self, prefixes: Sequence[str]) -> set[str]:
        self._check_is_open()
        call_checks.check_scan_many(prefixes, 1, messages.LIMITS)
        return await self._reads.filled(prefixes)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        self._check_is_open()
        call_checks.check_scan(prefix, after, 1, messages.LIMITS)
        call_checks.check_at(prefix, at)
        with self._learning(at):
            return await self._reads.count(prefix, after, at)

    async def folders(self, prefix: str) -> list[str]:
        self._check_is_open()
        keys.check_prefix(prefix)
        return await self._reads.folders(prefix)

    async def commit(self, txn: Txn) -> Outcome:
        self._check_is_open()
        call_checks.check_txn(txn, messages.LIMITS)
        return await self._writes.commit(txn)

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        self._check_is_open()
        batch = tuple(txns)  # the caller may do what it likes with its list
        call_checks.check_txns(batch, messages.LIMITS)
        return await self._writes.commit_many(batch)

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        call_checks.check_watch(prefix)
        return self._watch(prefix, after)

    async def compact(self, before: Revision) -> None:
        self._check_is_open()
        if before > self._hub.revision:
            await self._check_is_reached(before)
            await self._let_feed_pass(before)
        await self._past.compact(before)

    async def note_time(self, now: float) -> None:
        self._check_is_open()
        await self._past.note_time(now)

    async def revision_at(self, time: float) -> Revision | None:
        self._check_is_open()
        return await self._past.revision_at(time)

    async def check(self) -> None:
        await self.revision()
        self._currency.check()

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._failure = self._failure or failures.closed()
        await self._writes.drain()
        await tasks.stop(*self._tasks)
        self._hub.close(failures.closed())
        with contextlib.suppress(errors.ProbateError):  # what stays is removed by a later compaction
            await self._slots.remove_all(seconds=1.0)
        await self._endpoints.close()

    @asynccontextmanager
    async def _watch(self, prefix: str, after: Revision) -> AsyncGenerator[Watch, None]:
        self._check_is_open()
        await self._check_is_kept(after)
        await self._check_is_reached(after)
        async with HubWatch(self._hub, self._feed.history, prefix, after) as watch:
            yield watch

    async def _let_feed_pass(self, revision: Revision) -> None:
        """Our own feed must be past what is compacted: etcd cannot show then what a change replaced."""
        with contextlib.suppress(errors.StoreFull):  # compaction is what makes room, so it must not need any
            await tick(self._endpoints, self._layout, seconds=self._timeouts.write)
            await self._feed.reach(revision, seconds=self._timeouts.write)

    async def _check_is_kept(self, revision: Revision) -> None:
        """Also if another server compacted it: etcd's watch would still begin one revision before what its reads can see."""
        self._past.check_is_kept(revision)
        if revision < self._hub.revision:
            with self._learning(revision):
                await self._reads.check_is_kept(revision)

    async def _check_is_reached(self, revision: Revision) -> None:
        if revision > self._hub.revision and revision > (current := await self._reads.revision()):
            raise errors.FutureRevision(f"revision {revision} is ahead of this store, which is at {current}")

    @contextlib.contextmanager
    def _learning(self, at: Revision | None) -> Generator[None, None, None]:
        try:
            yield
        except errors.Gone:
            if at is not None:
                self._past.learn(at)
            raise

    def _check_is_open(self) -> None:
        if self._failure is not None:
            raise type(self._failure)(*self._failure.args)

    def _break(self, error: BaseException) -> None:
        """The feed cannot go on: stop, rather than go on half alive."""
        if not isinstance(error, errors.ApiError):
            error = errors.StoreUnavailable(f"the store stopped after an unexpected error: {error!r}. Restart the server")
        self._failure = error
        self._hub.close(error)  # also for those who come only now
