"""The changes of all objects, out of etcd's watch and into the hub.

One watch serves all watchers of this server, and shows the writes of other servers on the same etcd as well. When its
connection breaks, it goes on at another member right after the last revision it has seen: nothing is missed or repeated,
and watchers notice nothing but a pause. If that revision was compacted meanwhile, there is a gap that nobody can close:
every watch of this server ends with `Gone`, and the feed begins anew. And if etcd as a whole is at an earlier revision than
it was, somebody has replaced its data. Waiting for the old revision to come again would show nothing for long and then the
wrong thing, so the store stops.

Each transaction changes one object, so a revision has one event, and any event is a place where a watch may go on. The tick
(see `layout`) is such a place without a change. The feed begins at a tick it wrote itself. So the hub's revision always is
one that has an event in the watched range, and history has been read when it has shown that one.
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
from probate.store import damage
from probate.store.contract import Damaged, Event, Revision
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, TXN, Endpoints, pauses
from probate.store.hub import Chapter, Hub

log = logging.getLogger(__name__)

TICK_SECONDS = 10.0

_Chapter: TypeAlias = tuple[list[Event | Damaged], Revision]
"""Changes as they come, with those that cannot be shown, and up to where they are complete."""


class Feed:
    """What keeps the hub up to date."""

    def __init__(self, endpoints: Endpoints, layout: Layout, hub: Hub, known: damage.Damage) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._damage = known
        self._hub = hub
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def revision(self) -> Revision:
        """Everything up to here has been published."""
        return self._hub.revision

    async def run(self) -> None:
        """Publish what happens. Never returns."""
        while True:
            try:
                async with aclosing(self._chapters(self._hub.revision)) as chapters:
                    async for events, revision in chapters:
                        self._hub.publish_shown(events, revision=revision)
                        self._damage.forget(events)
                        self._wake()
            except errors.Gone as gone:
                await self._begin_anew(gone)

    async def reach(self, revision: Revision, *, seconds: float) -> None:
        """Wait until everything up to this revision has been published, but not longer than this."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._hub.revision < revision:
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiting.append(waiter)
                    await waiter

    async def history(self, prefix: str, after: Revision) -> AsyncGenerator[Chapter, None]:
        """What the hub has published of a range, until it has caught up with the hub (see `hub.History`)."""
        async with aclosing(self._chapters(after)) as chapters:
            async for events, revision in chapters:
                mine = [event for event in events if event.key.startswith(prefix)]
                shown = list(itertools.takewhile(lambda event: isinstance(event, Event), mine))
                unshown = mine[len(shown) :]
                yield shown, revision if not unshown else Revision(unshown[0].revision - 1)  # type: ignore[misc]
                if unshown and isinstance(unshown[0], Damaged):
                    raise damage.gap_of(unshown[0])
                if revision >= self._hub.revision:
                    return

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def _begin_anew(self, gone: errors.Gone) -> None:
        revision = await self._new_beginning()
        # No await between these two: whoever joins now does so before both, and learns of the gap, or after both.
        self._hub.break_off(gone)
        self._hub.publish([], revision=revision)

    async def _new_beginning(self) -> Revision:
        for pause in pauses():
            try:
                return await tick(self._endpoints, self._layout, seconds=TICK_SECONDS)
            except (errors.StoreUnavailable, errors.StoreFull) as error:
                log.warning("the feed cannot begin anew, trying again: %s", error)
            await self._endpoints.clock.sleep(pause)
        raise AssertionError("pauses do not end")

    async def _chapters(self, after: Revision) -> AsyncGenerator[_Chapter, None]:
        """All changes after a revision, for ever, over any number of connections. `Gone` if they were compacted."""
        waits = pauses()
        while True:
            try:
                async with aclosing(self._connection(after)) as chapters:
                    async for chapter in chapters:
                        after, waits = chapter[1], pauses()
                        yield chapter
            except failures.Lost as lost:
                log.info("a watch of etcd broke and goes on after revision %d: %s", after, lost)
                await self._endpoints.clock.sleep(next(waits))

    async def _connection(self, after: Revision) -> AsyncGenerator[_Chapter, None]:
        """All changes after a revision, as long as one connection lasts."""
        span = self._layout.watched
        wanted = rpc.WatchCreateRequest(
            key=span.key, range_end=span.range_end, start_revision=after + 1, prev_kv=True, fragment=True
        )
        async with aclosing(self._endpoints.watch(wanted)) as responses:
            async for response in responses:
                if response.compact_revision:
                    raise _gap(after, f"history begins at {response.compact_revision}")
                if response.canceled:
                    raise failures.Lost(response.cancel_reason)
                # What was written may be known before its event has come: so the feed's own place is not all that was reached.
                reached = Revision(max(after, self._endpoints.reached))
                if response.created and response.header.revision < reached:
                    await self._check_not_set_back(reached)
                if response.events:
                    yield self._events(response), Revision(response.events[-1].kv.mod_revision)

    async def _check_not_set_back(self, reached: Revision) -> None:
        """A member may be behind the others for a moment. All of them together never are, unless somebody replaced the data."""
        request = rpc.RangeRequest(key=self._layout.tick, count_only=True)
        try:
            answer = await self._endpoints.ask(RANGE, request, seconds=TICK_SECONDS)
        except errors.StoreUnavailable as error:
            raise failures.Lost(str(error)) from error
        if answer.header.revision < reached:
            raise errors.StoreDamaged(
                f"etcd is at revision {answer.header.revision}, but had reached {reached}: its data was lost, or replaced by "
                "an older copy. If that was meant, restart the server; all its clients must list again"
            )

    def _events(self, response: rpc.WatchResponse) -> list[Event | Damaged]:
        return [self._event(change) for change in response.events if change.kv.key != self._layout.tick]

    def _event(self, change: rpc.Event) -> Event | Damaged:
        kv = change.kv
        is_deleted = change.type == rpc.Event.DELETE
        previous = None
        if is_deleted or kv.create_revision != kv.mod_revision:
            if not change.HasField("prev_kv"):
                raise _gap(Revision(kv.mod_revision - 1), "what was there before was compacted")
            previous = self._layout.record(change.prev_kv)
        now = None if is_deleted else self._layout.record(kv)
        if isinstance(now, Damaged):
            return now
        if isinstance(previous, Damaged):
            return Damaged(previous.key, Revision(kv.mod_revision), previous.problem)
        return Event(Revision(kv.mod_revision), self._layout.text(kv.key), None if now is None else now.value, previous)


async def tick(endpoints: Endpoints, layout: Layout, *, seconds: float) -> Revision:
    """Write the tick. Its revision has an event in the watched range, and is later than all that was acknowledged before."""
    answer = await endpoints.ask(TXN, rpc.TxnRequest(success=[messages.put(layout.tick)]), seconds=seconds)
    return Revision(answer.header.revision)


def _gap(after: Revision, why: str) -> errors.Gone:
    return errors.Gone(f"the changes after revision {after} are not all there any more: {why}. List again and go on from there")
