"""The distributed engine: implements the store contract on etcd.

Any number of servers may use one etcd. Each sees the others' changes in its watches, and the same guards bind all of them, because
etcd itself evaluates them. If etcd does not answer, each call waits for its time limit and then raises `StoreUnavailable`; watches
stay open meanwhile and continue once etcd is back. The staleness of the view from watches is bounded: `freshness` compares it with
etcd every second, and `confirmed_revision` tells whether it is known to be recent.
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
from probate.store import argument_checks, keys
from probate.store.contract import (
    CommitResult,
    DamagedRecord,
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
from probate.store.etcd import layout_version, messages
from probate.store.etcd.compaction import History
from probate.store.etcd.freshness import Freshness
from probate.store.etcd.layout import Layout
from probate.store.etcd.reads import EtcdReader
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc.address import EtcdAddress
from probate.store.etcd.rpc.members import Members
from probate.store.etcd.shared_watch import SharedWatch, write_tick
from probate.store.etcd.write_slots import WriteSlots
from probate.store.etcd.writes import EtcdWriter
from probate.store.watch_hub import HubWatch, WatchBuffer, WatchHub


class Timeouts(NamedTuple):
    """How many seconds a call waits for etcd before it fails."""

    connect: float = 10.0
    read: float = 5.0
    write: float = 10.0
    stale: float = 5.0  # how stale the view from watches may be (see `freshness`)


async def open_etcd(
    address: EtcdAddress, *, clock: Clock, process: str, buffer: WatchBuffer | None = None, timeouts: Timeouts | None = None
) -> EtcdStore:
    """Opens the store at this address. `process` must be an id that no other process has or ever had.

    Raises `CannotOpen` if etcd does not answer within the time to connect, and `StoreFull` if it accepts no writes.
    """
    keys.check_key(f"slots/{process}/1")
    timeouts = timeouts or Timeouts()
    members, layout = Members(address, clock), Layout(address.root)
    try:
        revision = await write_tick(members, layout, seconds=timeouts.connect)
        await layout_version.check_or_write(members, layout, seconds=timeouts.connect)
    except BaseException as error:
        await members.close()
        if isinstance(error, errors.StoreUnavailable):
            raise errors.CannotOpen(f"the store {address} cannot be opened: {error}") from error
        raise
    return EtcdStore(members, layout, WatchHub(revision, buffer or WatchBuffer()), process=process, timeouts=timeouts)


class EtcdStore:
    """An open store on etcd. Created by `open_etcd`."""

    def __init__(self, members: Members, layout: Layout, hub: WatchHub, *, process: str, timeouts: Timeouts) -> None:
        self._members = members
        self._layout = layout
        self._hub = hub
        self._timeouts = timeouts
        self._slots = WriteSlots(members, layout, process)
        self._writer = EtcdWriter(members, layout, self._slots, seconds=timeouts.write)
        self._reader = EtcdReader(members, layout, seconds=timeouts.read)
        self._history = History(members, layout, self._slots, seconds=timeouts.write)
        self.damaged_objects = DamagedObjects()
        self._shared_watch = SharedWatch(members, layout, hub, damaged=self.damaged_objects)
        self._freshness = Freshness(members, layout, self._shared_watch, seconds=timeouts.stale)
        self._failure: errors.ApiError | None = None
        self._closing: asyncio.Task[None] | None = None
        self._tasks = (
            tasks.start_supervised(self._shared_watch.run(), name="etcd watch", on_failure=self._break),
            tasks.start_supervised(self._freshness.run(), name="etcd freshness", on_failure=self._break),
        )

    @property
    def limits(self) -> Limits:
        return messages.LIMITS

    async def revision(self) -> Revision:
        self._check_is_open()
        return await self._reader.revision()

    def unchanged_since(self, prefix: str) -> UnchangedSince | None:
        self._check_is_open()
        argument_checks.check_watch(prefix)
        return None  # other servers write too

    def confirmed_revision(self) -> Revision | None:
        return None if self._failure is not None else self._freshness.confirmed_revision()

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        self._check_is_open()
        keys.check_key(key)
        argument_checks.check_at(key, at)
        with self._noting_compaction(at):
            return self.damaged_objects.intact_record(await self._reader.record(key, at))

    async def read_many(self, requested_keys: Sequence[str]) -> list[ReadResult]:
        self._check_is_open()
        argument_checks.check_read_many(requested_keys, messages.LIMITS)
        results = await self._reader.records(requested_keys)
        self.damaged_objects.add(result for result in results if isinstance(result, DamagedRecord))
        return results

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        self._check_is_open()
        argument_checks.check_scan(prefix, after, limit, limits=messages.LIMITS)
        argument_checks.check_at(prefix, at)
        with self._noting_compaction(at):
            page = await self._reader.page(prefix, after, limit, at=at)
        self.damaged_objects.add(page.damaged_records)
        return page

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        self._check_is_open()
        argument_checks.check_scan_many(prefixes, limit, messages.LIMITS)
        pages = await self._reader.pages(prefixes, limit)
        self.damaged_objects.add(damaged for page in pages for damaged in page.damaged_records)
        return pages

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        self._check_is_open()
        argument_checks.check_scan_many(prefixes, 1, messages.LIMITS)
        return await self._reader.nonempty_ranges(prefixes)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        self._check_is_open()
        argument_checks.check_scan(prefix, after, 1, limits=messages.LIMITS)
        argument_checks.check_at(prefix, at)
        with self._noting_compaction(at):
            return await self._reader.count(prefix, after, at)

    async def child_prefixes(self, prefix: str) -> list[str]:
        self._check_is_open()
        keys.check_prefix(prefix)
        return await self._reader.child_prefixes(prefix)

    async def commit(self, txn: Txn) -> CommitResult:
        self._check_is_open()
        argument_checks.check_txn(txn, messages.LIMITS)
        return await self._writer.commit(txn)

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        self._check_is_open()
        copy = tuple(txns)  # the caller may change its list meanwhile
        argument_checks.check_txns(copy, messages.LIMITS)
        return await self._writer.commit_many(copy)

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        argument_checks.check_watch(prefix)
        return self._watch(prefix, after)

    async def compact(self, before: Revision) -> None:
        self._check_is_open()
        if before > self._hub.revision:
            await self._check_is_reached(before)
            await self._wait_for_watch(before)
        await self._history.compact(before)

    async def record_time(self, now: float) -> None:
        self._check_is_open()
        await self._history.record_time(now)

    async def revision_at(self, time: float) -> Revision | None:
        self._check_is_open()
        return await self._history.revision_at(time)

    async def check(self) -> None:
        await self.revision()
        self._freshness.check()

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._failure = self._failure or rpc_failures.closed()
        await self._writer.drain()
        await tasks.stop(*self._tasks)
        self._hub.close(rpc_failures.closed())
        with contextlib.suppress(errors.ProbateError):  # a later compaction removes the slots that remain
            await self._slots.remove_all(seconds=1.0)
        await self._members.close()

    @asynccontextmanager
    async def _watch(self, prefix: str, after: Revision) -> AsyncGenerator[Watch, None]:
        self._check_is_open()
        await self._check_not_compacted(after)
        await self._check_is_reached(after)
        async with HubWatch(self._hub, self._shared_watch.history, prefix, after=after) as watch:
            yield watch

    async def _wait_for_watch(self, revision: Revision) -> None:
        """Waits until the shared watch is past a revision to be compacted: otherwise etcd could not show it replaced versions."""
        with contextlib.suppress(errors.StoreFull):  # compaction frees space, so it must not require any
            await write_tick(self._members, self._layout, seconds=self._timeouts.write)
            await self._shared_watch.wait_until(revision, seconds=self._timeouts.write)

    async def _check_not_compacted(self, revision: Revision) -> None:
        """Raises `Gone` if the revision is compacted, also if another server did it.

        The read is needed because etcd's watch would still start one revision before the first one that its reads can see.
        """
        self._history.check_not_compacted(revision)
        if revision < self._hub.revision:
            with self._noting_compaction(revision):
                await self._reader.check_not_compacted(revision)

    async def _check_is_reached(self, revision: Revision) -> None:
        if revision > self._hub.revision and revision > (current := await self._reader.revision()):
            raise errors.FutureRevision(f"revision {revision} is ahead of this store, which is at {current}")

    @contextlib.contextmanager
    def _noting_compaction(self, at: Revision | None) -> Generator[None, None, None]:
        """Records that `at` is compacted if the block raises `Gone`."""
        try:
            yield
        except errors.Gone:
            if at is not None:
                self._history.mark_compacted(at)
            raise

    def _check_is_open(self) -> None:
        if self._failure is not None:
            raise type(self._failure)(*self._failure.args)

    def _break(self, error: BaseException) -> None:
        """Stops the whole store when the shared watch cannot continue."""
        if not isinstance(error, errors.ApiError):
            error = errors.StoreUnavailable(f"the store stopped after an unexpected error: {error!r}. Restart the server")
        self._failure = error
        self._hub.close(error)  # also ends watches that start later
