"""Hands committed changes to watchers: each change once to each, in order, and never waiting for any of them.

An engine publishes what it has committed; the hub knows nothing of where that is stored. A watch that begins in the past
first reads the engine's history and joins the hub in the very step in which it has caught up, so nothing is missed or seen
twice. Watchers are found by the ranges a key lies in: a change costs the same whether ten or ten thousand watch other kinds.

A watcher that does not take what it is given keeps at most `Buffer.events` events or `Buffer.size` bytes of them. One more
and it is cut off with `TooSlow`, and what it held is let go at once. A watcher that is waiting for events is not slow: it gets
whatever one publication holds, however much that is.

Everything here belongs to one event loop. Events are shared between watchers, not copied.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import chain
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias

from probate.core import errors
from probate.store import damage, keys
from probate.store.contract import Batch, Damaged, Event, Revision, Sink

log = logging.getLogger(__name__)


class Buffer(NamedTuple):
    """How far a watcher may fall behind before it is cut off."""

    events: int = 20_000
    size: int = 64 * 1024 * 1024


MAX_ROUTES = 10_000

Chapter: TypeAlias = tuple[list[Event], Revision]
"""Part of a range's history: its events, and the revision up to which they are complete."""

History: TypeAlias = Callable[[str, Revision], AsyncGenerator[Chapter, None]]
"""history(prefix, after): chapters in order, ending once they have reached what had been published when it was called."""


class Hub:
    """The meeting point of one engine and its watchers. `revision` is how far the engine has published."""

    def __init__(self, revision: Revision, buffer: Buffer) -> None:
        self.revision = revision
        self.buffer = buffer
        self._closed: errors.ProbateError | None = None
        self._subscriptions: dict[str, dict[Subscription, None]] = {}
        self._routes: dict[str, tuple[str, ...]] = {}  # of each folder of keys, the ranges it lies in that are watched

    def watches(self, key: str) -> bool:
        """Whether anybody wants to know of changes of this key."""
        return bool(self._subscriptions) and bool(self._route(key))

    def _route(self, key: str) -> tuple[str, ...]:
        folder = key[: key.rindex("/")]
        found = self._routes.get(folder)
        if found is None:
            found = tuple(prefix for prefix in keys.prefixes_of(key) if prefix in self._subscriptions)
            if len(self._routes) >= MAX_ROUTES:
                self._routes.clear()
            self._routes[folder] = found
        return found

    def publish(self, events: Sequence[Event], *, revision: Revision) -> None:
        """Everything up to `revision` is committed, and of what is watched these are the changes since the last call."""
        before, self.revision = self.revision, revision
        if not self._subscriptions:
            return
        shares: dict[str, Batch] = {}
        folder, theirs = "", list[Batch]()
        for event in events:
            key = event.key
            if not key.startswith(folder) or key.rindex("/") != len(folder) or not folder:  # most often it is that of the last one
                folder = key[: key.rindex("/")]
                theirs = [shares.setdefault(prefix, Batch()) for prefix in self._route(key)]
            for share in theirs:
                share.append(event)
        for prefix, share in shares.items():
            for subscription in tuple(self._subscriptions[prefix]):
                subscription.push(share, before)

    def publish_shown(self, events: Sequence[Event | Damaged], *, revision: Revision) -> None:
        """`publish`, where some changes may be of damaged objects: these cannot be shown, so the watches of their ranges end."""
        if Damaged not in map(type, events):
            self.publish(events, revision=revision)  # type: ignore[arg-type]
            return
        shown: list[Event] = []
        for event in events:
            if isinstance(event, Event):
                shown.append(event)
                continue
            self.publish(shown, revision=Revision(event.revision - 1))
            self._break_off_at(event)
            shown = []
        self.publish(shown, revision=revision)

    def _break_off_at(self, change: Damaged) -> None:
        for prefix in self._route(change.key) if self._subscriptions else ():
            for subscription in tuple(self._subscriptions.get(prefix, ())):
                subscription.end(damage.gap_of(change))

    def subscribe(self, prefix: str, *, after: Revision) -> Subscription:
        """From now on, collect what is published of this range with a revision above `after`."""
        subscription = Subscription(self, prefix, after)
        if self._closed is not None:
            subscription.end(self._closed)
            return subscription
        if prefix not in self._subscriptions:
            self._subscriptions[prefix] = {}
            self._routes.clear()
        self._subscriptions[prefix][subscription] = None
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop collecting. Idempotent."""
        peers = self._subscriptions.get(subscription.prefix, {})
        peers.pop(subscription, None)
        if not peers and self._subscriptions.pop(subscription.prefix, None) is not None:
            self._routes.clear()

    def close(self, error: errors.ProbateError) -> None:
        """End every watch with this error, also those that are still on their way here."""
        self._closed = error
        self.break_off(error)

    def break_off(self, error: errors.ProbateError) -> None:
        """End every watch with this error, once it has handed out what it holds."""
        for peers in tuple(self._subscriptions.values()):
            for subscription in tuple(peers):
                subscription.end(error)


class Subscription:
    """What one watcher has not taken yet."""

    def __init__(self, hub: Hub, prefix: str, after: Revision) -> None:
        self.prefix = prefix
        self._hub = hub
        self._taken = after
        self._batches: list[Batch] = []
        self._count = 0
        self._size = 0
        self._is_nudged = False
        self._error: errors.ProbateError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.sink: Sink | None = None

    @property
    def revision(self) -> Revision:
        """Everything up to here has been taken."""
        if self._batches or self._error is not None:
            return self._taken
        return max(self._taken, self._hub.revision)

    def push(self, events: Batch, before: Revision) -> None:
        """Add events, or cut the watcher off if that is more than it may hold. Up to `before` there were no others."""
        if not self._batches and before > self._taken:
            self._taken = before
        if events[0].revision <= self._taken:  # it read these from history, which can be ahead of what is published
            events = Batch(event for event in events if event.revision > self._taken)
            if not events:
                return
        is_waiting = self._waiter is not None and not self._waiter.done()
        if is_waiting and self.sink is not None and self._is_offered(events, self.sink):
            return
        self._batches.append(events)
        self._count += len(events)
        self._size += events.size
        if not is_waiting and (self._count > self._hub.buffer.events or self._size > self._hub.buffer.size):
            self._cut_off()
        else:
            self._wake()

    def _is_offered(self, events: Batch, sink: Sink) -> bool:
        """Whether the sink has taken the events. To be asked only while somebody waits for them."""
        try:
            return sink(events)
        except Exception:
            log.exception("what follows the watch of %s could not take a batch at once", self.prefix)
            return False

    def nudge(self) -> None:
        """Let `take` return, with nothing if there is nothing."""
        self._is_nudged = True
        self._wake()

    def end(self, error: errors.ProbateError) -> None:
        """Nothing more will come, for this reason."""
        self._taken = self.revision
        self._hub.unsubscribe(self)
        self._error = error
        self._wake()

    async def take(self) -> Batch:
        """All events not taken yet: waits until there is one, or a nudge. Raises the reason of the end when nothing is left."""
        while not self._batches:
            if self._error is not None:
                raise self._error
            if self._is_nudged:
                self._is_nudged = False
                return Batch()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        batches, self._batches, self._count, self._size = self._batches, [], 0, 0
        self._taken = batches[-1][-1].revision
        return batches[0] if len(batches) == 1 else Batch(chain.from_iterable(batches))

    def _cut_off(self) -> None:
        self._error = errors.TooSlow(
            f"the watch of {self.prefix} fell {self._count:,} changes behind and was cut off. "
            f"Watch again after revision {self._taken}",
            revision=self._taken,
        )
        self._batches, self._count, self._size = [], 0, 0
        self.end(self._error)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class HubWatch:
    """A watch as the contract has it: the engine's history first, then the hub. Waiting for it may be cancelled at any time."""

    def __init__(self, hub: Hub, history: History, prefix: str, after: Revision) -> None:
        self._hub = hub
        self._history = history
        self._prefix = prefix
        self._caught_up_to = after
        self._chapters: AsyncGenerator[Chapter, None] | None = None
        self._subscription: Subscription | None = None
        self._is_nudged = False
        self._sink: Sink | None = None

    @property
    def revision(self) -> Revision:
        return self._caught_up_to if self._subscription is None else self._subscription.revision

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        while self._subscription is None:
            if self._is_nudged:
                self._is_nudged = False
                return Batch()
            if self._caught_up_to >= self._hub.revision:
                # No await between this test and joining: what is published from here on is collected.
                self._subscription = self._hub.subscribe(self._prefix, after=self._caught_up_to)
                self._subscription.sink = self._sink
            elif events := await self._next_chapter():
                return Batch(events)
        return await self._subscription.take()

    def nudge(self) -> None:
        if self._subscription is None:
            self._is_nudged = True
        else:
            self._subscription.nudge()

    def hand_to(self, sink: Sink) -> None:
        self._sink = sink
        if self._subscription is not None:
            self._subscription.sink = sink

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._chapters is not None:
            await self._chapters.aclose()
        if self._subscription is not None:
            self._hub.unsubscribe(self._subscription)

    async def _next_chapter(self) -> list[Event]:
        # Kept only if it gives something: one that ended, or was cancelled in the middle, is begun anew where it got to.
        chapters = self._chapters or self._history(self._prefix, self._caught_up_to)
        self._chapters = None
        try:
            events, self._caught_up_to = await anext(chapters)
        except StopAsyncIteration:
            return []
        self._chapters = chapters
        return events
