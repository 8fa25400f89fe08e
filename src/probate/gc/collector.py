"""The collector's loop: watches every change, decides what it means for owners and dependents, and commits the decisions.

It holds no graph. It reads ownership from the backend's index when it matters, so there is nothing to build at start and nothing to
go stale, and an unchanging graph causes no work. It saves its position from time to time and continues there after a restart. Doing
something twice does no harm, since every action is guarded by the items that it was decided on.

A turn takes at most `TURN` objects off the work queue: objects to check and the next dependents of removed owners (`resolver`), and
owners that may be released (`release`). While its actions are executed (`executor`), the next turn is prepared. When no other work
is left, owners that still wait are searched for cycles (`cycle_breaker`).
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from probate.api.ownership import Action, Change, RemoveOwnerReferences
from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.gc import cycle_breaker, forbidden
from probate.gc.backend import Backend
from probate.gc.collector_metrics import Timeline
from probate.gc.executor import Executor
from probate.gc.release import RETRY_SECONDS, OwnerRelease
from probate.gc.resolver import TURN, Resolver, existing, take
from probate.gc.workqueue import NEW_OBJECTS, RELEASES, DelayingQueue, Work, WorkQueue

__all__ = ["NEW_OBJECT_SECONDS", "RETRY_SECONDS", "Collector"]

SAVE_SECONDS = 5.0
"""How often the position is saved at most."""
SAVE_CHANGES = 1_000
"""Irrelevant changes after which the position is saved anyway: they would be read again after a restart."""
NEW_OBJECT_SECONDS = 0.004
"""How long a new object with a missing owner is left alone: the client that created it may be about to write more. An object that
was marked to be removed at once is left that long to the request that marked it."""

BATCH = 400
"""Decisions of a long cascade that are executed while the rest of the same turn is still being decided."""

FROM_LIST = 1
"""The revision of work that comes from listing everything, not from a change."""

NO_WORK: Work = {}

log = logging.getLogger(__name__)


class Collector:
    """One collector on one backend. `patience` is how long an owner is held for a controller that has not observed its deletion."""

    def __init__(self, backend: Backend, clock: Clock, *, patience: float = 1.0) -> None:
        self._backend = backend
        self._clock = clock
        self._queue = WorkQueue()
        self._has_work = asyncio.Event()
        self._later = DelayingQueue()
        self._resolver = Resolver(backend, self._queue)
        self._release = OwnerRelease(backend, clock, self._queue, later=self._later, patience=patience)
        self._executor = Executor(backend, clock, self._queue, later=self._later, release=self._release)
        self._executions: list[asyncio.Task[None]] = []  # actions of this turn and the last that are being executed
        self._saved_position = 0
        self._saved_at = 0.0
        self.following = asyncio.Event()  # set while the change feed is followed
        self._trouble = "it has not started yet"
        self._is_busy = False
        self._timeline = Timeline()

    @property
    def done(self) -> Counter[str]:
        """Actions that were executed, by metric label."""
        return self._executor.done

    @property
    def failures(self) -> Counter[str]:
        """Actions that failed, by resource."""
        return self._executor.failures

    @property
    def queue_length(self) -> int:
        return len(self._queue) + len(self._later) + len(self._executor.forbidden)

    @property
    def is_following(self) -> bool:
        return self.following.is_set()

    @property
    def trouble(self) -> str | None:
        """Why the change feed is not followed; None if it is."""
        return None if self.is_following else self._trouble

    @property
    def age_of_oldest_work(self) -> float:
        """How many seconds ago the oldest unprocessed change arrived; 0 if there is none. Walks all work."""
        revisions = [since for since in (self._queue.oldest(), self._later.oldest()) if since is not None]
        return self._timeline.age(min(revisions), self._clock.monotonic()) if revisions else 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no work is left, due now or later."""
        return self.is_caught_up and not self._later

    @property
    def is_caught_up(self) -> bool:
        """Whether no work is left that is due now."""
        return self.is_following and not (self._is_busy or self._queue or self._queue.cycle_candidates)

    @property
    def next_delayed_work(self) -> float | None:
        """When the next delayed work is due, by the clock's `monotonic`."""
        return self._later.next_time

    @property
    def revision(self) -> int:
        """The revision up to which changes have arrived."""
        return self._queue.revision

    async def run(self) -> None:
        """Follows the change feed and collects. Never returns; after a failure it continues where it was."""
        while True:
            try:
                await self._follow()
            except errors.Gone:
                log.warning("collector position compacted, listing all objects", extra=facts(revision=self._queue.revision))
                self._trouble = "its position was compacted; it lists all objects"
                await self._retry_on_error(self._list_all)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("collector watch failed, restarting", extra=facts(revision=self._queue.revision, error=str(error)))
                self._trouble = f"its watch failed and is restarted: {error}"
                await self._clock.sleep(RETRY_SECONDS)

    async def _retry_on_error(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except errors.ApiError as error:
            log.warning("collector cannot list all objects, will retry", extra=facts(error=str(error)))
            self._trouble = f"it cannot list all objects yet: {error}"
            await self._clock.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        if not self._queue.revision:
            position = await self._backend.load_position()
            if position is None:
                self._trouble = "it is new on this store; it lists all objects"
                await self._list_all()
            else:
                self._queue.revision = self._saved_position = position
        async with self._backend.watch_changes(self._queue.revision, self._skip_irrelevant) as batches:
            self.following.set()
            try:
                async with tasks.BackgroundTask(self._collect()):
                    async for changes in batches:
                        self._add_changes(changes)
                        await asyncio.sleep(0)  # yields the event loop even while there is always another batch
            finally:
                self.following.clear()

    def _add_changes(self, changes: list[Change]) -> None:
        self._timeline.add(self._queue.revision, self._clock.monotonic())
        for change in changes:
            if self._queue.add_change(change):
                self._check_later(change)
        self._queue.revision = changes[-1].revision
        if changes[0].before is not None or changes[0].after is not None or self._is_save_due():
            self._has_work.set()

    def _skip_irrelevant(self, revision: int) -> None:
        """Fast path: up to this revision, no change concerns the collector."""
        self._timeline.add(self._queue.revision, self._clock.monotonic())
        self._queue.revision = revision
        if self._is_save_due():
            self._has_work.set()

    def _is_save_due(self) -> bool:
        """Whether to save the position although there was no work."""
        is_far = self._queue.revision - self._saved_position >= SAVE_CHANGES
        return is_far and self._clock.monotonic() - self._saved_at >= SAVE_SECONDS

    def _check_later(self, change: Change) -> None:
        if change.after is not None:
            kind = RELEASES if change.after.is_deleting else NEW_OBJECTS
            self._later.add(self._clock.monotonic() + NEW_OBJECT_SECONDS, kind, change.after.key, since=change.revision)

    async def _list_all(self) -> None:
        """Queues all objects as if they had just been created. No position is saved before that work is done."""
        revision, continue_token = await self._backend.revision(), ""
        while True:
            page = await self._backend.list_all(continue_token, limit=TURN)
            for item in existing(await self._backend.get_items(page.keys)):
                change = Change(FROM_LIST, None, item)
                if self._queue.add_change(change):
                    self._check_later(change)
            continue_token = page.continue_token
            if not continue_token:
                break
            await asyncio.sleep(0)
        self._queue.revision = revision
        self._has_work.set()

    async def _collect(self) -> None:
        """Works whenever there is work."""
        try:
            while True:
                self._is_busy = False
                await self._wait_for_work()
                self._is_busy = True
                await self._work_off()
                if self._queue.cycle_candidates:
                    await self._break_cycles()
                await self._save_position()
        finally:
            executions, self._executions = self._executions, []  # before the await, which may be cancelled
            await tasks.stop(*executions)

    async def _work_off(self) -> None:
        """Runs turns until no work is left. While the actions of one become durable, the next is prepared."""
        self._move_due()
        while self._queue or self._executions:
            if self._queue:
                await self._turn()
            else:
                await self._finish(list(self._executions))
            await time_slices.wait_turn()
            self._move_due()

    async def _finish(self, executions: list[asyncio.Task[None]]) -> None:
        while executions:
            await executions[0]
            self._executions.remove(executions.pop(0))

    async def _wait_for_work(self) -> None:
        self._has_work.clear()
        if self._queue or self._queue.cycle_candidates:
            return
        next_time = self._later.next_time
        if next_time is None:
            await self._has_work.wait()
            return
        waiting = {
            asyncio.ensure_future(self._has_work.wait()),
            asyncio.ensure_future(self._sleep_until(next_time)),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.stop(*waiting)

    async def _sleep_until(self, time: float) -> None:
        await self._clock.sleep(time - self._clock.monotonic())

    def _move_due(self) -> None:
        """Moves delayed work that is due to the work queue."""
        queues = self._queue.by_kind
        for kind, key, since in self._later.pop_due(self._clock.monotonic()):
            if kind != forbidden.KIND:
                queues[kind].setdefault(key, since)
                continue
            for permitted_kind, work in self._executor.take_permitted().items():
                queues[permitted_kind].update(work)

    async def _save_position(self) -> None:
        now = self._clock.monotonic()
        if self._queue.revision <= self._saved_position or (self._saved_position and now - self._saved_at < SAVE_SECONDS):
            return
        unprocessed = [since - 1 for since in (self._queue.oldest(), self._later.oldest()) if since is not None]
        position = min([self._queue.revision, *unprocessed])
        if position > self._saved_position:
            await self._backend.save_position(position)
            self._saved_position, self._saved_at = position, now

    # --- one turn -----------------------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        """Decides on one turn's work and starts its actions, once those of the turn before are executed."""
        earlier = list(self._executions)
        await self._resolver.expand_kinds()
        await self._resolver.queue_unblocked_owners()
        objects = await self._resolver.take_objects()
        new_objects, releases = take(self._queue.new_objects), take(self._queue.releases)
        batches, last = _batches(objects) if earlier else ([], objects)
        decided: list[Action] = []
        try:
            for batch in batches:  # executed while the rest of the turn is decided
                actions = _references_first(await self._resolver.decide(batch))
                await self._finish(earlier)
                self._start_execution(actions, batch)
                decided += actions
            actions = await self._resolver.decide(last)
            actions += await self._resolver.decide(new_objects, are_new=True)
            actions += await self._release.plan_releases(releases)
            actions = _references_first(actions)
            await self._finish(earlier)
            actions += self._release.releases_after(decided + actions)
        except BaseException:
            self._requeue(objects, new_objects, releases)
            raise
        self._start_execution(actions, last, new_objects=new_objects, releases=releases)

    def _start_execution(
        self, actions: list[Action], objects: Work, *, new_objects: Work = NO_WORK, releases: Work = NO_WORK
    ) -> None:
        since = {**releases, **new_objects, **objects}
        execution = asyncio.create_task(self._execute(actions, since, self._release.take_orphaning()))
        execution.add_done_callback(
            functools.partial(self._requeue_if_failed, objects=objects, new_objects=new_objects, releases=releases)
        )
        self._executions.append(execution)

    async def _execute(self, actions: list[Action], since: Work, orphaning: Work) -> None:
        result = await self._executor.execute(actions, since)
        if not result.is_denied:
            self._release.continue_orphaning(orphaning, has_failed=result.has_failed)
            return
        for key, revision in orphaning.items():
            self._executor.postpone(RELEASES, key, revision, permissions=result.permissions)

    def _requeue_if_failed(self, task: asyncio.Task[None], *, objects: Work, new_objects: Work, releases: Work) -> None:
        if task.cancelled() or task.exception() is not None:  # it may have been cancelled before it began
            self._requeue(objects, new_objects, releases)

    def _requeue(self, objects: Work, new_objects: Work, releases: Work) -> None:
        """Returns the work of a failed turn to the queue, so that nothing is lost."""
        self._queue.objects.update(objects)
        self._queue.new_objects.update(new_objects)
        self._queue.releases.update(releases)

    async def _break_cycles(self) -> None:
        """Searches for cycles among the owners that could not be released, whenever there are new ones."""
        candidates, self._queue.cycle_candidates = self._queue.cycle_candidates, {}
        try:
            items = existing(await self._backend.get_items(list(candidates)))
            await self._executor.execute(await cycle_breaker.break_cycles(items, self._resolver.waiting_owners), candidates)
        except BaseException:  # nothing is lost
            self._queue.cycle_candidates = candidates | self._queue.cycle_candidates
            raise


def _batches(objects: Work) -> tuple[list[Work], Work]:
    """Splits the work of a full turn into batches that are decided one after the other: all but the last, and the last."""
    if len(objects) < time_slices.slice_size(TURN):
        return [], objects
    size, pieces = time_slices.slice_size(BATCH), list(objects.items())
    parts = [dict(pieces[start : start + size]) for start in range(0, len(pieces), size)]
    return parts[:-1], parts[-1]


def _references_first(actions: list[Action]) -> list[Action]:
    """Puts removals of owner references first: they are guarded by their solid owners, which a later action may change."""
    return sorted(actions, key=lambda action: not isinstance(action, RemoveOwnerReferences))
