"""Delivers the changes of all objects from one etcd watch to the watch hub.

One etcd watch serves all watchers of this server, and also shows the writes of other servers on the same etcd. When its connection
breaks, it continues at another member right after the last revision it has seen: no change is missed or repeated, and watchers
notice nothing but a pause. If that revision was compacted meanwhile, the gap cannot be closed: every watch of this server ends with
`Gone`, and the shared watch starts again. If etcd as a whole is at an earlier revision than before, its data was replaced. Waiting
until it reaches the old revision again would show nothing for a long time and then wrong changes, so the store stops.

Each transaction changes one object, so each revision has one event, and the watch can continue after any event. The tick (see
`layout`) is such a place without a change. The watch starts at a tick that it wrote itself. So the hub's revision is always one
that has an event in the watched range, and a reader of history has caught up when it has seen that event.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeAlias

from probate.core import errors
from probate.core.logs import facts
from probate.store import damaged_objects
from probate.store.contract import DamagedRecord, Event, Revision
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, TXN, Members, backoff_seconds
from probate.store.watch_hub import HistoryChunk, WatchHub

log = logging.getLogger(__name__)

TICK_SECONDS = 10.0

_Chunk: TypeAlias = tuple[list[Event | DamagedRecord], Revision]
"""Changes in order, including those that cannot be shown, and the revision up to which they are complete."""


class SharedWatch:
    """The etcd watch that keeps the hub up to date."""

    def __init__(self, members: Members, layout: Layout, hub: WatchHub, *, damaged: damaged_objects.DamagedObjects) -> None:
        self._members = members
        self._layout = layout
        self._damaged_objects = damaged
        self._hub = hub
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def revision(self) -> Revision:
        """The revision up to which everything has been published."""
        return self._hub.revision

    async def run(self) -> None:
        """Publishes changes as they arrive. Never returns."""
        while True:
            try:
                async with aclosing(self._chunks(self._hub.revision)) as chunks:
                    async for events, revision in chunks:
                        self._hub.publish_with_damaged(events, revision=revision)
                        self._damaged_objects.remove_replaced(events)
                        self._wake()
            except errors.Gone as gone:
                await self._restart(gone)

    async def wait_until(self, revision: Revision, *, seconds: float) -> None:
        """Waits until everything up to this revision has been published, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._hub.revision < revision:
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiter)
                    await waiter

    async def history(self, prefix: str, after: Revision) -> AsyncGenerator[HistoryChunk, None]:
        """Yields the published changes of a range until it has caught up with the hub (see `watch_hub.HistoryReader`)."""
        async with aclosing(self._chunks(after)) as chunks:
            async for events, revision in chunks:
                in_range = [event for event in events if event.key.startswith(prefix)]
                intact = list(itertools.takewhile(lambda event: isinstance(event, Event), in_range))
                rest = in_range[len(intact) :]
                yield intact, revision if not rest else Revision(rest[0].revision - 1)  # type: ignore[misc]
                if rest and isinstance(rest[0], DamagedRecord):
                    raise damaged_objects.watch_gap(rest[0])
                if revision >= self._hub.revision:
                    return

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _restart(self, gone: errors.Gone) -> None:
        revision = await self._write_start_tick()
        # No await between these two calls: a watcher that subscribes now does so before both, and gets the error, or after both.
        self._hub.end_all(gone)
        self._hub.publish([], revision=revision)

    async def _write_start_tick(self) -> Revision:
        for pause in backoff_seconds():
            try:
                return await write_tick(self._members, self._layout, seconds=TICK_SECONDS)
            except (errors.StoreUnavailable, errors.StoreFull) as error:
                log.warning("etcd watch cannot restart, trying again", extra=facts(error=str(error)))
            await self._members.clock.sleep(pause)
        raise AssertionError("backoff_seconds does not end")

    async def _chunks(self, after: Revision) -> AsyncGenerator[_Chunk, None]:
        """Yields all changes after a revision, forever, over any number of connections. Raises `Gone` if they were compacted."""
        pauses = backoff_seconds()
        while True:
            try:
                async with aclosing(self._chunks_of_connection(after)) as chunks:
                    async for chunk in chunks:
                        after, pauses = chunk[1], backoff_seconds()
                        yield chunk
            except rpc_failures.CallLost as lost:
                log.info("etcd watch broke, continuing after the last revision", extra=facts(revision=after, error=str(lost)))
                await self._members.clock.sleep(next(pauses))

    async def _chunks_of_connection(self, after: Revision) -> AsyncGenerator[_Chunk, None]:
        """Yields all changes after a revision, as long as one connection lasts."""
        watched = self._layout.watched
        request = rpc.WatchCreateRequest(
            key=watched.key, range_end=watched.range_end, start_revision=after + 1, prev_kv=True, fragment=True
        )
        async with aclosing(self._members.watch(request)) as responses:
            async for response in responses:
                if response.compact_revision:
                    raise _gap(after, f"history begins at {response.compact_revision}")
                if response.canceled:
                    raise rpc_failures.CallLost(response.cancel_reason)
                # A write may be acknowledged before its event arrives, so etcd may have reached more than the watch has seen.
                reached = Revision(max(after, self._members.newest_revision))
                if response.created and response.header.revision < reached:
                    await self._check_not_replaced(reached)
                if response.events:
                    yield self._events(response), Revision(response.events[-1].kv.mod_revision)

    async def _check_not_replaced(self, reached: Revision) -> None:
        """Raises `StoreDamaged` if all of etcd is behind a revision that it had reached: its data was replaced.

        A single member may be behind the others for a moment.
        """
        request = rpc.RangeRequest(key=self._layout.tick, count_only=True)
        try:
            answer = await self._members.call(RANGE, request, seconds=TICK_SECONDS)
        except errors.StoreUnavailable as error:
            raise rpc_failures.CallLost(str(error)) from error
        if answer.header.revision < reached:
            raise errors.StoreDamaged(
                f"etcd is at revision {answer.header.revision}, but had reached {reached}: its data was lost, or replaced by "
                "an older copy. If that was meant, restart the server; all its clients must list again"
            )

    def _events(self, response: rpc.WatchResponse) -> list[Event | DamagedRecord]:
        return [self._event(change) for change in response.events if change.kv.key != self._layout.tick]

    def _event(self, change: rpc.Event) -> Event | DamagedRecord:
        kv = change.kv
        is_deleted = change.type == rpc.Event.DELETE
        previous = None
        if is_deleted or kv.create_revision != kv.mod_revision:
            if not change.HasField("prev_kv"):
                raise _gap(Revision(kv.mod_revision - 1), "what was there before was compacted")
            previous = self._layout.record(change.prev_kv)
        current = None if is_deleted else self._layout.record(kv)
        if isinstance(current, DamagedRecord):
            return current
        if isinstance(previous, DamagedRecord):
            return DamagedRecord(previous.key, Revision(kv.mod_revision), previous.problem)
        value = None if current is None else current.value
        return Event(Revision(kv.mod_revision), self._layout.store_key(kv.key), value, previous)


async def write_tick(members: Members, layout: Layout, *, seconds: float) -> Revision:
    """Writes the tick. Returns its revision, which has an event in the watched range and is later than all acknowledged writes."""
    answer = await members.call(TXN, rpc.TxnRequest(success=[messages.put(layout.tick)]), seconds=seconds)
    return Revision(answer.header.revision)


def _gap(after: Revision, reason: str) -> errors.Gone:
    return errors.Gone(f"some changes after revision {after} are gone: {reason}. List again and continue from there")
