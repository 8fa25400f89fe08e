"""Distributes committed changes to watchers: each change once to each watcher, in order, without ever waiting for one.

An engine publishes what it has committed; the hub does not know how it is stored. A watch that starts at a past revision first
reads the engine's history, and joins the hub in the same step of the event loop in which it has caught up, so it misses no change
and sees none twice. Watchers are indexed by prefix: the cost of a change does not depend on the number of watchers of other ranges.
Watchers of partial prefixes are found by cutting the key; as long as there are none, keys are not cut.

The hub buffers at most `WatchBuffer.events` events or `WatchBuffer.value_bytes` bytes for a watcher that does not take them. Beyond
that it ends the watch with `TooSlow` and drops the buffer at once. A watcher that is waiting for events is not slow: it receives
everything of one publication, however much that is.

All methods must be called on one event loop. Watchers share events; the hub does not copy them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import chain
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias

from probate.core import errors
from probate.core.logs import facts
from probate.store import damaged_objects, keys
from probate.store.contract import Batch, BatchHandler, DamagedRecord, Event, Revision

log = logging.getLogger(__name__)


class WatchBuffer(NamedTuple):
    """The limits of how far a watcher may fall behind before its watch ends."""

    events: int = 20_000
    value_bytes: int = 64 * 1024 * 1024


MAX_ROUTES = 10_000

HistoryChunk: TypeAlias = tuple[list[Event], Revision]
"""Part of the history of a range: its events, and the revision up to which they are complete."""

HistoryReader: TypeAlias = Callable[[str, Revision], AsyncGenerator[HistoryChunk, None]]
"""reader(prefix, after) yields chunks in order and ends at the revision that had been published when it was called."""


class WatchHub:
    """Connects one engine with its watchers. `revision` is the revision up to which the engine has published."""

    def __init__(self, revision: Revision, buffer: WatchBuffer) -> None:
        self.revision = revision
        self.buffer = buffer
        self._closed: errors.ProbateError | None = None
        self._subscriptions: dict[str, dict[Subscription, None]] = {}
        self._partial_prefixes: set[str] = set()  # those of the watched prefixes that end within a segment
        self._routes: dict[str, tuple[str, ...]] = {}  # by parent prefix of a key: the other watched prefixes that contain it

    def has_watchers(self, key: str) -> bool:
        """Returns whether any watch covers this key."""
        if not self._subscriptions:
            return False
        if self._partial_prefixes and keys.partial_prefix_of(key) in self._partial_prefixes:
            return True
        return bool(self._route(key))

    def _route(self, key: str) -> tuple[str, ...]:
        """Returns the watched prefixes of whole segments that contain the key."""
        parent = key[: key.rindex("/")]
        route = self._routes.get(parent)
        if route is None:
            route = tuple(prefix for prefix in keys.prefixes_of(key) if prefix in self._subscriptions)
            if len(self._routes) >= MAX_ROUTES:
                self._routes.clear()
            self._routes[parent] = route
        return route

    def publish(self, events: Sequence[Event], *, revision: Revision) -> None:
        """Delivers the changes since the last call. Everything up to `revision` is committed.

        `events` must contain every change of a watched key; others may be left out.
        """
        before, self.revision = self.revision, revision
        if not self._subscriptions:
            return
        batches: dict[str, Batch] = {}
        parent, parent_batches = "", list[Batch]()
        for event in events:
            key = event.key
            if not key.startswith(parent) or key.rindex("/") != len(parent) or not parent:  # most events share the parent
                parent = key[: key.rindex("/")]
                parent_batches = [batches.setdefault(prefix, Batch()) for prefix in self._route(key)]
            for batch in parent_batches:
                batch.append(event)
        if self._partial_prefixes:
            batches.update(self._partial_batches(events))
        for prefix, batch in batches.items():
            for subscription in tuple(self._subscriptions[prefix]):
                subscription.push(batch, before)

    def _partial_batches(self, events: Sequence[Event]) -> dict[str, Batch]:
        """Returns the events of each watched partial prefix."""
        batches: dict[str, Batch] = {}
        for event in events:
            prefix = keys.partial_prefix_of(event.key)
            if prefix in self._partial_prefixes:
                batches.setdefault(prefix, Batch()).append(event)
        return batches

    def publish_with_damaged(self, events: Sequence[Event | DamagedRecord], *, revision: Revision) -> None:
        """Publishes like `publish`; ends the watches whose range contains a damaged change, because it cannot be shown."""
        if DamagedRecord not in map(type, events):
            self.publish(events, revision=revision)  # type: ignore[arg-type]
            return
        intact: list[Event] = []
        for event in events:
            if isinstance(event, Event):
                intact.append(event)
                continue
            self.publish(intact, revision=Revision(event.revision - 1))
            self._end_watches_of(event)
            intact = []
        self.publish(intact, revision=revision)

    def _end_watches_of(self, damaged: DamagedRecord) -> None:
        prefixes = self._route(damaged.key) if self._subscriptions else ()
        partial = keys.partial_prefix_of(damaged.key)
        for prefix in (*prefixes, partial) if partial in self._partial_prefixes else prefixes:
            for subscription in tuple(self._subscriptions.get(prefix, ())):
                subscription.end(damaged_objects.watch_gap(damaged))

    def subscribe(self, prefix: str, *, after: Revision) -> Subscription:
        """Returns a subscription that collects the changes of a range after revision `after`, from now on."""
        subscription = Subscription(self, prefix, after)
        if self._closed is not None:
            subscription.end(self._closed)
            return subscription
        if prefix not in self._subscriptions:
            self._subscriptions[prefix] = {}
            if keys.is_partial(prefix):
                self._partial_prefixes.add(prefix)
            else:
                self._routes.clear()
        self._subscriptions[prefix][subscription] = None
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Removes a subscription. Idempotent."""
        subscriptions = self._subscriptions.get(subscription.prefix, {})
        subscriptions.pop(subscription, None)
        if not subscriptions and self._subscriptions.pop(subscription.prefix, None) is not None:
            if keys.is_partial(subscription.prefix):
                self._partial_prefixes.remove(subscription.prefix)
            else:
                self._routes.clear()

    def close(self, error: errors.ProbateError) -> None:
        """Ends every watch with this error, including those that subscribe later."""
        self._closed = error
        self.end_all(error)

    def end_all(self, error: errors.ProbateError) -> None:
        """Ends every current watch with this error, once it has delivered what it holds."""
        for subscriptions in tuple(self._subscriptions.values()):
            for subscription in tuple(subscriptions):
                subscription.end(error)


class Subscription:
    """The buffer of one watcher: batches that it has not taken yet."""

    def __init__(self, hub: WatchHub, prefix: str, after: Revision) -> None:
        self.prefix = prefix
        self._hub = hub
        self._delivered = after
        self._batches: list[Batch] = []
        self._count = 0
        self._value_bytes = 0
        self._is_woken = False
        self._error: errors.ProbateError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.handler: BatchHandler | None = None

    @property
    def revision(self) -> Revision:
        """The revision up to which all changes have been delivered."""
        if self._batches or self._error is not None:
            return self._delivered
        return max(self._delivered, self._hub.revision)

    def push(self, events: Batch, before: Revision) -> None:
        """Adds events, or ends the watch if the buffer is full. There were no other changes of the range up to `before`."""
        if not self._batches and before > self._delivered:
            self._delivered = before
        if events[0].revision <= self._delivered:  # already read from history, which can be ahead of publication
            events = Batch(event for event in events if event.revision > self._delivered)
            if not events:
                return
        is_waiting = self._waiter is not None and not self._waiter.done()
        if is_waiting and self.handler is not None and self._is_handled(events, self.handler):
            return
        self._batches.append(events)
        self._count += len(events)
        self._value_bytes += events.value_bytes
        if not is_waiting and (self._count > self._hub.buffer.events or self._value_bytes > self._hub.buffer.value_bytes):
            self._end_as_too_slow()
        else:
            self._resolve_waiter()

    def _is_handled(self, events: Batch, handler: BatchHandler) -> bool:
        """Offers the events to the handler. To be called only while the consumer is waiting for events."""
        try:
            return handler(events)
        except Exception:
            log.exception("watch handler failed, delivering the batch by iteration", extra=facts(prefix=self.prefix))
            return False

    def wake(self) -> None:
        """Makes `take` return, with an empty batch if there are no events."""
        self._is_woken = True
        self._resolve_waiter()

    def end(self, error: errors.ProbateError) -> None:
        """Ends the subscription: `take` raises this error once the buffer is empty."""
        self._delivered = self.revision
        self._hub.unsubscribe(self)
        self._error = error
        self._resolve_waiter()

    async def take(self) -> Batch:
        """Returns all buffered events. Waits for the first one, or for `wake`. Raises the error that ended the subscription."""
        while not self._batches:
            if self._error is not None:
                raise self._error
            if self._is_woken:
                self._is_woken = False
                return Batch()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        batches, self._batches, self._count, self._value_bytes = self._batches, [], 0, 0
        self._delivered = batches[-1][-1].revision
        return batches[0] if len(batches) == 1 else Batch(chain.from_iterable(batches))

    def _end_as_too_slow(self) -> None:
        self._error = errors.TooSlow(
            f"the watch of {self.prefix} fell {self._count:,} changes behind and was cut off. "
            f"Watch again after revision {self._delivered}",
            revision=self._delivered,
        )
        self._batches, self._count, self._value_bytes = [], 0, 0
        self.end(self._error)

    def _resolve_waiter(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class HubWatch:
    """Implements `contract.Watch`: the engine's history first, then the hub. Waiting for it may be cancelled at any time."""

    def __init__(self, hub: WatchHub, history: HistoryReader, prefix: str, *, after: Revision) -> None:
        self._hub = hub
        self._history = history
        self._prefix = prefix
        self._delivered = after  # while there is no subscription
        self._chunks: AsyncGenerator[HistoryChunk, None] | None = None
        self._subscription: Subscription | None = None
        self._is_woken = False
        self._handler: BatchHandler | None = None

    @property
    def revision(self) -> Revision:
        return self._delivered if self._subscription is None else self._subscription.revision

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        while self._subscription is None:
            if self._is_woken:
                self._is_woken = False
                return Batch()
            if self._delivered >= self._hub.revision:
                # No await between this check and subscribing: everything published from here on is collected.
                self._subscription = self._hub.subscribe(self._prefix, after=self._delivered)
                self._subscription.handler = self._handler
            elif events := await self._next_chunk():
                return Batch(events)
        return await self._subscription.take()

    def wake(self) -> None:
        if self._subscription is None:
            self._is_woken = True
        else:
            self._subscription.wake()

    def set_handler(self, handler: BatchHandler) -> None:
        self._handler = handler
        if self._subscription is not None:
            self._subscription.handler = handler

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._chunks is not None:
            await self._chunks.aclose()
        if self._subscription is not None:
            self._hub.unsubscribe(self._subscription)

    async def _next_chunk(self) -> list[Event]:
        # Kept only after it yields: a generator that ended, or was cancelled, is replaced by one that continues from `_delivered`.
        chunks = self._chunks or self._history(self._prefix, self._delivered)
        self._chunks = None
        try:
            events, self._delivered = await anext(chunks)
        except StopAsyncIteration:
            return []
        self._chunks = chunks
        return events
