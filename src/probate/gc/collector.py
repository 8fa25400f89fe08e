"""The collector: follows every change, decides what it means for owners and dependents, and commits the decisions in groups.

It holds no graph. Who owns whom is asked of the world's index when it matters, so there is nothing to build at start, nothing to go
stale, and an idle graph causes no work. Where it got to is noted now and then: after a restart it goes on from there. Doing a
thing twice does no harm, since every action says what it was based on.

A turn takes at most `TURN` objects: those to examine, the next dependents of owners that went (`looking`), and owners that may be
free to go (`leaving`). While its decisions are carried out (`carrying`), the next turn is prepared. When there is nothing else to
do, owners that still wait are searched for circles (`knots`).
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import Counter

from probate.api.ownership import Action, Change, Drop
from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.core.clock import Clock
from probate.gc import cycle_breaker, forbidden
from probate.gc.backend import World
from probate.gc.collector_metrics import Timeline
from probate.gc.executor import Carrying
from probate.gc.release import RETRY_SECONDS, Leaving
from probate.gc.resolver import TURN, Looking, drain, there
from probate.gc.workqueue import Appointments, Pending, Work

__all__ = ["BIRTH_SECONDS", "RETRY_SECONDS", "Collector"]

NOTE_SECONDS = 5.0
NOTE_CHANGES = 1_000
"""So many that mean nothing to it may come before it notes how far it got: it would look at them again after a restart."""
BIRTH_SECONDS = 0.004
"""A new object whose owner is not there is left alone this long: whoever made it may be in the middle of saying more about it. One
that was marked to be removed at once is left to whoever marked it."""

BATCH = 400
"""Decisions of a long cascade that are carried out while others of the same turn are still to be made."""

BEGINNING = 1
"""The revision that work comes from which no single change has made."""

NOTHING: Work = {}

log = logging.getLogger(__name__)


class Collector:
    """One collector on one world. `patience` is how long an owner is held for a controller that has not seen it go."""

    def __init__(self, world: World, clock: Clock, *, patience: float = 1.0) -> None:
        self._world = world
        self._clock = clock
        self._pending = Pending()
        self._work = asyncio.Event()
        self._later = Appointments()
        self._looking = Looking(world, self._pending)
        self._leaving = Leaving(world, clock, self._pending, self._later, patience=patience)
        self._carrying = Carrying(world, clock, self._pending, self._later, self._leaving)
        self._acting: list[asyncio.Task[None]] = []  # decisions of this turn and of the last that are being carried out
        self._noted = 0
        self._noted_at = 0.0
        self.following = asyncio.Event()  # while changes are followed
        self._trouble = "it has not begun yet"
        self._is_at_work = False
        self._timeline = Timeline()

    @property
    def done(self) -> Counter[str]:
        """Actions that were carried out, by name."""
        return self._carrying.done

    @property
    def failures(self) -> Counter[str]:
        """Actions that failed, by resource."""
        return self._carrying.failures

    @property
    def queue_length(self) -> int:
        return len(self._pending) + len(self._later) + len(self._carrying.denied)

    @property
    def is_following(self) -> bool:
        return self.following.is_set()

    @property
    def trouble(self) -> str | None:
        """What keeps it from following the changes; None if nothing does."""
        return None if self.is_following else self._trouble

    @property
    def age_of_oldest_work(self) -> float:
        """How many seconds ago the oldest change was told that is not dealt with; 0 if all are. Costs a walk over the work."""
        open_ = [since for since in (self._pending.oldest(), self._later.oldest()) if since is not None]
        return self._timeline.age(min(open_), self._clock.monotonic()) if open_ else 0.0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do about the changes seen so far."""
        return self.is_waiting and not self._later

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is left to do about them before the next appointment."""
        return self.is_following and not (self._is_at_work or self._pending or self._pending.stuck)

    @property
    def next_appointment(self) -> float | None:
        """When something comes up that was put off, as the clock's `monotonic` counts."""
        return self._later.next

    @property
    def seen(self) -> int:
        """The revision up to which changes have been seen."""
        return self._pending.seen

    async def run(self) -> None:
        """Follow and collect. Never returns; after a failure it begins again where it was."""
        while True:
            try:
                await self._follow()
            except errors.Gone:
                log.warning("the collector was away for too long: it looks at everything once")
                self._trouble = "it was away for too long, and looks at everything once"
                await self._try(self._begin_anew)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("the collector lost the thread and takes it up again: %s", error)
                self._trouble = f"it lost the thread and takes it up again: {error}"
                await self._clock.sleep(RETRY_SECONDS)

    async def _try(self, step: object) -> None:
        try:
            await step()  # type: ignore[operator]
        except errors.ApiError as error:
            log.warning("the collector cannot look at everything yet: %s", error)
            self._trouble = f"it cannot look at everything yet: {error}"
            await self._clock.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        if not self._pending.seen:
            noted = await self._world.position()
            if noted is None:
                self._trouble = "it is new here, and looks at everything once"
                await self._begin_anew()
            else:
                self._pending.seen = self._noted = noted
        async with self._world.changes(self._pending.seen, self._pass_by) as changes:
            self.following.set()
            try:
                async with tasks.beside(self._collect()):
                    async for some in changes:
                        self._take(some)
                        await asyncio.sleep(0)  # also while there is always something more to take
            finally:
                self.following.clear()

    def _take(self, changes: list[Change]) -> None:
        self._timeline.note(self._pending.seen, self._clock.monotonic())
        for change in changes:
            if self._pending.note(change):
                self._look_later(change)
        self._pending.seen = changes[-1].revision
        if changes[0].before is not None or changes[0].after is not None or self._is_far():
            self._work.set()

    def _pass_by(self, revision: int) -> None:
        """Up to here nothing has happened that matters."""
        self._timeline.note(self._pending.seen, self._clock.monotonic())
        self._pending.seen = revision
        if self._is_far():
            self._work.set()

    def _is_far(self) -> bool:
        """Whether it is time to note how far it got although there was nothing to do."""
        return self._pending.seen - self._noted >= NOTE_CHANGES and self._clock.monotonic() - self._noted_at >= NOTE_SECONDS

    def _look_later(self, change: Change) -> None:
        if change.after is not None:
            kind = "settle" if change.after.is_deleting else "born"
            self._later.add(self._clock.monotonic() + BIRTH_SECONDS, kind, change.after.where, change.revision)

    async def _begin_anew(self) -> None:
        """Look at everything as if it had just been created, and note no position before that is done."""
        revision, more = await self._world.revision(), ""
        while True:
            page = await self._world.everything(more, limit=TURN)
            for item in there(await self._world.items(page.wheres)):
                change = Change(BEGINNING, None, item)
                if self._pending.note(change):
                    self._look_later(change)
            more = page.more
            if not more:
                break
            await asyncio.sleep(0)
        self._pending.seen = revision
        self._work.set()

    async def _collect(self) -> None:
        """Work whenever there is some."""
        try:
            while True:
                self._is_at_work = False
                await self._wait_for_work()
                self._is_at_work = True
                await self._work_off()
                if self._pending.stuck:
                    await self._untie()
                await self._note_position()
        finally:
            acting, self._acting = self._acting, []  # first of all: this may be cancelled while it waits
            await tasks.stop(*acting)

    async def _work_off(self) -> None:
        """Turn after turn until nothing is left. While the decisions of one become durable, the next is prepared."""
        self._keep_appointments()
        while self._pending or self._acting:
            if self._pending:
                await self._turn()
            else:
                await self._finish_acting(list(self._acting))
            await time_slices.turn()
            self._keep_appointments()

    async def _finish_acting(self, acting: list[asyncio.Task[None]]) -> None:
        while acting:
            await acting[0]
            self._acting.remove(acting.pop(0))

    async def _wait_for_work(self) -> None:
        self._work.clear()
        if self._pending or self._pending.stuck:
            return
        soonest = self._later.next
        if soonest is None:
            await self._work.wait()
            return
        waiting = {
            asyncio.ensure_future(self._work.wait()),
            asyncio.ensure_future(self._sleep_until(soonest)),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.stop(*waiting)

    async def _sleep_until(self, when: float) -> None:
        await self._clock.sleep(when - self._clock.monotonic())

    def _keep_appointments(self) -> None:
        pending = self._pending
        work = {"born": pending.born, "examine": pending.examine, "settle": pending.settle, "stuck": pending.stuck}
        for kind, where, since in self._later.due(self._clock.monotonic()):
            if kind != forbidden.KIND:
                work[kind].setdefault(where, since)
                continue
            for again, pieces in self._carrying.take_denied().items():
                work[again].update(pieces)

    async def _note_position(self) -> None:
        now = self._clock.monotonic()
        if self._pending.seen <= self._noted or (self._noted and now - self._noted_at < NOTE_SECONDS):
            return
        open_ = [since - 1 for since in (self._pending.oldest(), self._later.oldest()) if since is not None]
        position = min([self._pending.seen, *open_])
        if position > self._noted:
            await self._world.note_position(position)
            self._noted, self._noted_at = position, now

    # --- one turn -----------------------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        earlier = list(self._acting)
        await self._looking.find_kinds()
        await self._looking.find_owners()
        examined = await self._looking.gather()
        born, settled = drain(self._pending.born), drain(self._pending.settle)
        first, last = _batches(examined) if earlier else ([], examined)
        decided: list[Action] = []
        try:
            for batch in first:  # while these are carried out, the others are looked at
                actions = _drops_first(await self._looking.decide(batch))
                await self._finish_acting(earlier)
                self._begin_to_act(actions, batch)
                decided += actions
            actions = await self._looking.decide(last)
            actions += await self._looking.decide(born, are_born=True)
            actions += await self._leaving.settle(settled)
            actions = _drops_first(actions)
            await self._finish_acting(earlier)
            actions += self._leaving.release_after(decided + actions)
        except BaseException:
            self._look_again(examined, born, settled)
            raise
        self._begin_to_act(actions, last, born, settled)

    def _begin_to_act(self, actions: list[Action], examined: Work, born: Work = NOTHING, settled: Work = NOTHING) -> None:
        since = {**settled, **born, **examined}
        carrying = asyncio.create_task(self._carry_out(actions, since, self._leaving.take_orphaning()))
        carrying.add_done_callback(functools.partial(self._note_carried_out, examined, born, settled))
        self._acting.append(carrying)

    async def _carry_out(self, actions: list[Action], since: Work, orphaning: Work) -> None:
        carried = await self._carrying.act(actions, since)
        if not carried.is_denied:
            self._leaving.go_on_orphaning(orphaning, has_failed=carried.has_failed)
            return
        for where, revision in orphaning.items():
            self._carrying.put_off("settle", where, revision, carried.rights)

    def _note_carried_out(self, examined: Work, born: Work, settled: Work, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is not None:  # it may have been cancelled before it began
            self._look_again(examined, born, settled)

    def _look_again(self, examined: Work, born: Work, settled: Work) -> None:
        """Nothing is forgotten when a turn fails: all of it is looked at again."""
        self._pending.examine.update(examined)
        self._pending.born.update(born)
        self._pending.settle.update(settled)

    async def _untie(self) -> None:
        """Look for circles among those who cannot leave, whenever there are new ones."""
        stuck, self._pending.stuck = self._pending.stuck, {}
        try:
            items = there(await self._world.items(list(stuck)))
            await self._carrying.act(await cycle_breaker.untie(items, self._looking.blocked), stuck)
        except BaseException:  # nothing is forgotten
            self._pending.stuck = stuck | self._pending.stuck
            raise


def _batches(examined: Work) -> tuple[list[Work], Work]:
    """The work of a whole turn in parts that are decided about one after the other: the first ones, and the last."""
    if len(examined) < time_slices.piece(TURN):
        return [], examined
    size, pieces = time_slices.piece(BATCH), list(examined.items())
    parts = [dict(pieces[start : start + size]) for start in range(0, len(pieces), size)]
    return parts[:-1], parts[-1]


def _drops_first(actions: list[Action]) -> list[Action]:
    """All were looked at together: who keeps an object for another owner's sake must not be changed first by the same lot."""
    return sorted(actions, key=lambda action: not isinstance(action, Drop))
