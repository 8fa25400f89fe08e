"""How much of each quota is used: counted from what is in the store, and kept up with every change of it.

A namespace without a quota is not counted, and without any quota nothing is followed at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.core.clock import Clock
from probate.kinds.core.quota import quantity_sums, quota_rules
from probate.kinds.core.quota.quantity_sums import Amounts
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.core.quota.usage import Counted
from probate.server.admission.quotas.counted_objects import Range, Where
from probate.store.contract import NOTHING, Batch, Event, Store

log = logging.getLogger(__name__)

AT_ONCE = 500
"""Changes that are taken in where they are made known. More of them come one after the other, with others in between."""
PAUSE_SECONDS = 1.0


class Ledger:
    """Keeps account. `is_due` is told which quota has another sum now."""

    def __init__(self, store: Store, clock: Clock, is_due: Callable[[str], None]) -> None:
        self._store = store
        self._clock = clock
        self._is_due = is_due
        self._quotas: Mapping[str, Sequence[Quota]] = {}
        self._ranges: dict[Where, Range] = {}
        self._used: dict[str, Amounts] = {}
        self._revision = NOTHING
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._to_read: asyncio.Queue[Range] = asyncio.Queue()
        self._follows = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def keep(self, quotas: Mapping[str, Sequence[Quota]]) -> None:
        """Keep account of these, by namespace, and of no others."""
        self._quotas = quotas
        wanted = {Where(resource, space) for space, some in quotas.items() for one in some for resource in one.resources}
        self._ranges = {where: range_ for where, range_ in self._ranges.items() if where in wanted}
        for where in sorted(wanted - self._ranges.keys()):
            self._begin(where)
        self._used = {}
        for space in quotas:
            self._sum_up(space)
        if quotas and self._task is None:
            told = "quotas are not counted any more"
            self._task = tasks.guard(self._run(), name="quotas", on_failure=lambda error: log.error(told, exc_info=error))

    def _begin(self, where: Where) -> None:
        self._ranges[where] = range_ = Range(where)
        self._to_read.put_nowait(range_)

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            await tasks.stop(self._task)
            self._task = None

    async def used(self, namespace: str, quota: Quota, *, at: int) -> Amounts:
        """What is used of the quota, at this revision or later."""
        while True:
            await self._reach(at)
            unread = self._unread(namespace, quota)
            if unread is None:
                return self._used.get(quota.key, {})
            await unread.is_read.wait()

    def _unread(self, namespace: str, quota: Quota) -> Range | None:
        ranges = (self._ranges.get(Where(resource, namespace)) for resource in quota.resources)
        return next((one for one in ranges if one is not None and not one.is_read.is_set()), None)

    async def _reach(self, revision: int) -> None:
        await self._follows.wait()
        if self._revision < revision:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((revision, waiting))
            await waiting

    async def _run(self) -> None:
        while True:
            both = asyncio.ensure_future(self._follow()), asyncio.ensure_future(self._read_all())
            try:
                done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    one.result()
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("what quotas count is not followed, trying again: %s", error)
            finally:
                await tasks.stop(*both)
            self._begin_again()
            await self._clock.sleep(PAUSE_SECONDS)

    def _begin_again(self) -> None:
        self._follows.clear()
        self._used, self._to_read = {}, asyncio.Queue()
        for range_ in self._ranges.values():
            range_.forget()
            self._to_read.put_nowait(range_)

    async def _follow(self) -> None:
        after = await self._store.revision()
        async with self._store.watch("objects/", after=after) as changes:
            self._advance(after)
            self._follows.set()
            changes.hand_to(self._take)
            async for events in changes:
                for first in range(0, len(events), AT_ONCE):
                    for event in events[first : first + AT_ONCE]:
                        self._note(event)
                    await time_slices.turn()
                self._advance(changes.revision)

    async def _read_all(self) -> None:
        """Ranges are read once changes are followed, so that none is missed."""
        await self._follows.wait()
        while True:
            range_ = await self._to_read.get()
            if self._ranges.get(range_.where) is range_:
                await range_.read(self._store)
                self._sum_up(range_.where.namespace)

    def _take(self, events: Batch) -> bool:
        if len(events) > AT_ONCE:
            return False
        for event in events:
            self._note(event)
        self._advance(events[-1].revision)
        return True

    def _note(self, event: Event) -> None:
        _, resource, namespace, _ = event.key.split("/", 3)
        if namespace not in self._quotas:
            return
        range_ = self._ranges.get(Where(resource, namespace))
        taken = range_.take(event) if range_ is not None else None
        if taken is None or taken[0] == taken[1]:
            return
        for quota in self._quotas[namespace]:
            self._change(quota, *taken)

    def _change(self, quota: Quota, before: Counted | None, after: Counted | None) -> None:
        used = self._used.get(quota.key)
        if used is None:
            return
        less, more = (
            quota_rules.share(quota, one.usage) if one is not None and quota_rules.counts(quota, one) else {}
            for one in (before, after)
        )
        if less != more:
            self._used[quota.key] = quantity_sums.less(quantity_sums.total((used, more)), less)
            self._is_due(quota.key)

    def _sum_up(self, namespace: str) -> None:
        """Reckon from all that is there, for quotas all of whose objects have been read."""
        for quota in self._quotas.get(namespace, ()):
            ranges = [self._ranges.get(Where(resource, namespace)) for resource in quota.resources]
            if all(one is not None and one.is_read.is_set() for one in ranges):
                counted = [one for range_ in ranges if range_ is not None for one in range_.objects.values()]
                mine = (quota_rules.share(quota, one.usage) for one in counted if quota_rules.counts(quota, one))
                self._used[quota.key] = quantity_sums.total(mine)
                self._is_due(quota.key)

    def _advance(self, revision: int) -> None:
        self._revision = max(self._revision, revision)  # type: ignore[assignment]
        due = [waiting for wanted, waiting in self._waiting if wanted <= revision]
        if due:
            self._waiting = [one for one in self._waiting if one[0] > revision]
            for waiting in due:
                if not waiting.done():
                    waiting.set_result(None)
