"""Counts how much of each quota is used: computed from the store, and updated with every change.

Scopes (namespaces, or others) without a quota are not counted, and without any quota nothing is watched.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.kinds.core.quota import quota_rules
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.core.quota.usage import ObjectUsage
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import Amounts
from probate.server.admission.quotas.counted_objects import CountedObjects
from probate.server.admission.quotas.quota_scopes import NamespaceScopes, QuotaScopes, ResourceInScope
from probate.store.contract import NO_REVISION, Batch, Event, Store, Watch

log = logging.getLogger(__name__)

EVENTS_PER_TURN = 500
"""Changes that are applied in the step that publishes them. Larger batches yield the event loop in between."""
PAUSE_SECONDS = 1.0


class UsageLedger:
    """The usage of all quotas. `on_change` is called with the key of a quota whose usage has changed."""

    def __init__(self, store: Store, clock: Clock, on_change: Callable[[str], None], *, scopes: QuotaScopes | None = None) -> None:
        self._store = store
        self._scopes = scopes or NamespaceScopes()
        self._clock = clock
        self._on_change = on_change
        self._quotas: Mapping[str, Sequence[Quota]] = {}
        self._objects: dict[ResourceInScope, CountedObjects] = {}
        self._used: dict[str, Amounts] = {}
        self._revision = NO_REVISION
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._to_read: asyncio.Queue[CountedObjects] = asyncio.Queue()
        self._is_watching = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._changes: Watch | None = None

    def track(self, quotas: Mapping[str, Sequence[Quota]]) -> None:
        """Counts these quotas, by scope, and no others. What is counted already is kept."""
        changed = {scope for scope in {*self._quotas, *quotas} if self._quotas.get(scope) != quotas.get(scope)}
        outdated = {quota.key for scope in changed for quota in self._quotas.get(scope, ())}
        self._quotas = quotas
        needed = {
            ResourceInScope(resource, scope)
            for scope, in_scope in quotas.items()
            for quota in in_scope
            for resource in quota.resources
        }
        self._objects = {counted: objects for counted, objects in self._objects.items() if counted in needed}
        for counted in sorted(needed - self._objects.keys()):
            self._schedule_read(counted)
        self._used = {key: used for key, used in self._used.items() if key not in outdated}
        for scope in changed:
            self._recompute(scope)
        if quotas and self._task is None:
            message = "quota usage counter failed, usage is no longer updated"
            self._task = tasks.start_supervised(
                self._run(), name="quotas", on_failure=lambda error: log.error(message, exc_info=error)
            )

    def _schedule_read(self, counted: ResourceInScope) -> None:
        self._objects[counted] = objects = CountedObjects(counted, self._scopes)
        self._to_read.put_nowait(objects)

    async def close(self) -> None:
        """Stops counting."""
        if self._task is not None:
            await tasks.stop(self._task)
            self._task = None

    async def used(self, scope: str, quota: Quota, *, revision: int) -> Amounts:
        """Returns the usage of the quota at this revision or later."""
        while True:
            await self._wait_for_revision(revision)
            unread = self._first_unread(scope, quota)
            if unread is None:
                return self._used.get(quota.key, {})
            await unread.is_read.wait()

    def _first_unread(self, scope: str, quota: Quota) -> CountedObjects | None:
        candidates = (self._objects.get(ResourceInScope(resource, scope)) for resource in quota.resources)
        return next((objects for objects in candidates if objects is not None and not objects.is_read.is_set()), None)

    async def _wait_for_revision(self, revision: int) -> None:
        await self._is_watching.wait()
        if self._revision < revision and self._changes is not None:
            self._changes.wake()  # in the view of a tenant, most changes are none of its own: no batch tells that they are over
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((revision, waiting))
            await waiting

    async def _run(self) -> None:
        while True:
            workers = asyncio.ensure_future(self._watch()), asyncio.ensure_future(self._read_all())
            try:
                done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
                for worker in done:
                    worker.result()
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("watch of quota usage failed, restarting", extra=facts(error=str(error)))
            finally:
                await tasks.stop(*workers)
            self._restart()
            await self._clock.sleep(PAUSE_SECONDS)

    def _restart(self) -> None:
        self._is_watching.clear()
        self._used, self._to_read = {}, asyncio.Queue()
        for objects in self._objects.values():
            objects.reset()
            self._to_read.put_nowait(objects)

    async def _watch(self) -> None:
        after = self._store.confirmed_revision() or await self._store.revision()
        async with self._store.watch("objects/", after=after) as changes:
            self._changes = changes
            self._advance(after)
            self._is_watching.set()
            changes.set_handler(self._apply_batch)
            async for events in changes:
                for first in range(0, len(events), EVENTS_PER_TURN):
                    for event in events[first : first + EVENTS_PER_TURN]:
                        self._apply(event)
                    await time_slices.wait_turn()
                self._advance(changes.revision)

    async def _read_all(self) -> None:
        """Reads objects only once changes are watched, so that no change is missed."""
        await self._is_watching.wait()
        while True:
            objects = await self._to_read.get()
            if self._objects.get(objects.counted) is objects:
                await objects.read(self._store)
                self._recompute(objects.counted.scope)

    def _apply_batch(self, events: Batch) -> bool:
        if len(events) > EVENTS_PER_TURN:
            return False
        for event in events:
            self._apply(event)
        self._advance(events[-1].revision)
        return True

    def _apply(self, event: Event) -> None:
        counted = self._scopes.find(event)
        if counted.scope not in self._quotas:
            return
        objects = self._objects.get(counted)
        change = objects.apply_or_defer(event) if objects is not None else None
        if change is None or change[0] == change[1]:
            return
        for quota in self._quotas[counted.scope]:
            self._change(quota, *change)

    def _change(self, quota: Quota, before: ObjectUsage | None, after: ObjectUsage | None) -> None:
        used = self._used.get(quota.key)
        if used is None:
            return
        less, more = (
            quota_rules.counted_amounts(quota, counted.usage)
            if counted is not None and quota_rules.matches_quota(quota, counted)
            else {}
            for counted in (before, after)
        )
        if less != more:
            self._used[quota.key] = quantity_sums.subtract(quantity_sums.add_up((used, more)), less)
            self._on_change(quota.key)

    def _recompute(self, scope: str) -> None:
        """Computes the usage of the quotas all of whose objects have been read."""
        for quota in self._quotas.get(scope, ()):
            all_objects = [self._objects.get(ResourceInScope(resource, scope)) for resource in quota.resources]
            if all(objects is not None and objects.is_read.is_set() for objects in all_objects):
                items = [item for objects in all_objects if objects is not None for item in objects.objects.values()]
                shares = (
                    quota_rules.counted_amounts(quota, item.usage) for item in items if quota_rules.matches_quota(quota, item)
                )
                self._used[quota.key] = quantity_sums.add_up(shares)
                self._on_change(quota.key)

    def _advance(self, revision: int) -> None:
        self._revision = max(self._revision, revision)  # type: ignore[assignment]
        reached = [waiting for revision_needed, waiting in self._waiters if revision_needed <= revision]
        if reached:
            self._waiters = [waiter for waiter in self._waiters if waiter[0] > revision]
            for waiting in reached:
                if not waiting.done():
                    waiting.set_result(None)
