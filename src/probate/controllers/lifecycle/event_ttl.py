"""Deletes Events that were not written for a while (`--event-ttl`).

Every write of an Event restarts its time, so the Events are kept in the order of their last write, and only the first one has a
timer. When it is due, all Events that are due are deleted together. Every server on a store does this; the first one deletes them.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable

from probate.api.object_keys import Key
from probate.api.ownership import ChangedKeys, Delete, Outcome
from probate.api.timestamps import parse_time
from probate.controllers.runtime import remaining_time
from probate.controllers.runtime.workqueue import DONE, IMMEDIATELY, Result
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.gc.action_log import log_actions
from probate.gc.backend import Backend

EVENTS = "events"
ALL_EVENTS = "all"
"""The only key that is reconciled."""
BATCH = 1_000
RETRY_SECONDS = 1.0
DENIED_SECONDS = 60.0
"""The time after which a denied delete is retried."""
TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")

log = logging.getLogger(__name__)


class EventTtl:
    """The reconciler of all Events."""

    def __init__(self, backend: Backend, clock: Clock, ttl: float, *, metrics: Registry) -> None:
        self._backend, self._clock, self._ttl = backend, clock, ttl
        self._expirations: dict[Key, float] = {}  # when each Event expires, by key and in this order
        self._own_deletes: set[Key] = set()  # keys that were deleted here, until the change arrives
        self._deleted = metrics.counter("probate_events_expired", "Events that were deleted because they expired.")

    async def begin(self) -> Iterable[str]:
        """Lists the existing Events, each with its remaining time to live."""
        self._own_deletes.clear()
        expirations: dict[Key, float] = {}
        continue_token = ""
        while True:
            page = await self._backend.list_resource(EVENTS, continue_token, limit=BATCH)
            for item in await self._backend.get_items(page.keys):
                event = await self._backend.get_object(EVENTS, item.meta.namespace, item.meta.name) if item is not None else None
                if event is not None:
                    age = max(0.0, self._clock.now() - written_at(event.object))
                    expirations[event.item.key] = self._clock.monotonic() + self._ttl - age
            continue_token = page.continue_token
            if not continue_token:
                break
        self._expirations = dict(sorted(expirations.items(), key=lambda entry: entry[1]))
        return [ALL_EVENTS]

    def keys_of(self, changed: ChangedKeys) -> Iterable[str]:
        if changed.resource != EVENTS:
            return []
        is_first = not self._expirations
        expires = self._clock.monotonic() + self._ttl
        for key in changed.keys:
            self._expirations.pop(key, None)
            if key in self._own_deletes:
                self._own_deletes.remove(key)
            else:
                self._expirations[key] = expires
        return [ALL_EVENTS] if is_first else []

    async def reconcile(self, _: str) -> Result:
        now = self._clock.monotonic()
        due = list(itertools.takewhile(lambda key: not remaining_time.until(self._expirations[key], now), self._expirations))[
            :BATCH
        ]
        if due:
            await self._delete(due)
            return IMMEDIATELY
        first = next(iter(self._expirations.values()), None)
        return DONE if first is None else remaining_time.until(first, now)

    async def _delete(self, keys: list[Key]) -> None:
        for key in keys:
            del self._expirations[key]
        items = [item for item in await self._backend.get_items(keys) if item is not None]
        self._own_deletes.update(item.key for item in items)
        actions = [Delete(item, None, f"it was not written for {self._ttl:g} s") for item in items]
        outcomes = await self._backend.execute(actions)
        log_actions(log, self._backend, zip(actions, outcomes, strict=True))
        for action, outcome in zip(actions, outcomes, strict=True):
            self._follow_up(action.item.key, outcome)

    def _follow_up(self, key: Key, outcome: Outcome) -> None:
        if outcome is Outcome.DONE:
            self._deleted[()] += 1
            return
        self._own_deletes.discard(key)
        retry_after = {Outcome.CHANGED: self._ttl, Outcome.DENIED: DENIED_SECONDS}.get(outcome, RETRY_SECONDS)
        self._expirations.setdefault(key, self._clock.monotonic() + retry_after)


def written_at(event: dict[str, object]) -> float:
    """Returns when the Event was last written, according to its own fields."""
    meta, series = event["metadata"], event.get("series")
    times = [event.get(name) for name in TIMES]
    times += [meta.get("creationTimestamp")] if isinstance(meta, dict) else []
    times += [series.get("lastObservedTime")] if isinstance(series, dict) else []
    return max((parse_time(_without_fraction(time)) for time in times if isinstance(time, str)), default=0.0)


def _without_fraction(time: str) -> str:
    return time if "." not in time else f"{time.partition('.')[0]}Z"
