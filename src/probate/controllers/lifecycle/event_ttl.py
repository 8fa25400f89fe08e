"""Events go when nobody has written them for a while (`--event-ttl`).

Every write of an Event begins its time anew, so whoever was written last goes last: they stand in a row, and only the first one has
a timer. When that is over all go together whose time is over. Every server on a store does this; who comes second finds nothing.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable

from probate.api.ownership import Delete, Outcome, Touch
from probate.api.timestamps import seconds
from probate.controllers.runtime import durations
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.gc.action_log import tell
from probate.gc.backend import World

EVENTS = "events"
FIRST = "first"
TOGETHER = 1_000
RETRY_SECONDS = 1.0
DENIED_SECONDS = 60.0
"""After which time it is tried again if it was not allowed."""
TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")

log = logging.getLogger(__name__)


class EventLife:
    """The reconciler of all Events."""

    def __init__(self, world: World, clock: Clock, ttl: float, metrics: Registry) -> None:
        self._world, self._clock, self._ttl = world, clock, ttl
        self._ends: dict[str, float] = {}  # when the time of each Event is over, in this order
        self._gone: set[str] = set()  # that were deleted here, until that is told as a change
        self._deleted = metrics.counter("probate_events_expired", "Events that were deleted because their time was over.")

    async def begin(self) -> Iterable[str]:
        """Those that are there already have what is left of their time."""
        self._gone.clear()
        ends: dict[str, float] = {}
        more = ""
        while True:
            page = await self._world.all_of(EVENTS, more, limit=TOGETHER)
            for item in await self._world.items(page.wheres):
                found = await self._world.find(EVENTS, item.meta.namespace, item.meta.name) if item is not None else None
                if found is not None:
                    ends[found.item.where] = (
                        self._clock.monotonic() + self._ttl - max(0.0, self._clock.now() - written_at(found.object))
                    )
            more = page.more
            if not more:
                break
        self._ends = dict(sorted(ends.items(), key=lambda one: one[1]))
        return [FIRST]

    def concerns(self, touch: Touch) -> Iterable[str]:
        if touch.resource != EVENTS:
            return []
        is_first = not self._ends
        end = self._clock.monotonic() + self._ttl
        for where in touch.wheres:
            self._ends.pop(where, None)
            if where in self._gone:
                self._gone.remove(where)
            else:
                self._ends[where] = end
        return [FIRST] if is_first else []

    async def reconcile(self, _: str) -> float | None:
        now = self._clock.monotonic()
        due = list(itertools.takewhile(lambda where: not durations.until(self._ends[where], now), self._ends))[:TOGETHER]
        if due:
            await self._delete(due)
            return 0.0
        first = next(iter(self._ends.values()), None)
        return None if first is None else durations.until(first, now)

    async def _delete(self, wheres: list[str]) -> None:
        for where in wheres:
            del self._ends[where]
        items = [item for item in await self._world.items(wheres) if item is not None]
        self._gone.update(item.where for item in items)
        actions = [Delete(item, None, f"nobody has written it for {self._ttl:g} s") for item in items]
        outcomes = await self._world.act(actions)
        tell(log, self._world, zip(actions, outcomes, strict=True))
        for action, outcome in zip(actions, outcomes, strict=True):
            self._note(action.item.where, outcome)

    def _note(self, where: str, outcome: Outcome) -> None:
        if outcome is Outcome.DONE:
            self._deleted[()] += 1
            return
        self._gone.discard(where)
        again = {Outcome.CHANGED: self._ttl, Outcome.DENIED: DENIED_SECONDS}.get(outcome, RETRY_SECONDS)
        self._ends.setdefault(where, self._clock.monotonic() + again)


def written_at(event: dict[str, object]) -> float:
    """When the Event was last written, as far as it tells."""
    meta, series = event["metadata"], event.get("series")
    told = [event.get(name) for name in TIMES]
    told += [meta.get("creationTimestamp")] if isinstance(meta, dict) else []
    told += [series.get("lastObservedTime")] if isinstance(series, dict) else []
    return max((seconds(_whole(one)) for one in told if isinstance(one, str)), default=0.0)


def _whole(time: str) -> str:
    """A time without its fractions of a second."""
    return time if "." not in time else f"{time.partition('.')[0]}Z"
