"""The collector: follows every change, decides what it means for owners and dependents, and commits the decisions in groups.

It holds no graph. Who owns whom is asked of the world's index when it matters, so there is nothing to build at start, nothing to go
stale, and an idle graph causes no work. Where it got to is noted now and then: after a restart it goes on from there. Doing a
thing twice does no harm, since every action says what it was based on.

A turn takes at most `TURN` objects: those to examine, the next dependents of owners that went, and owners that may be free to go.
When there is nothing else to do, owners that still wait are searched for circles.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, TypeAlias

import msgspec

from probate import errors
from probate.aio import tasks, turns
from probate.clock import Clock
from probate.control.telling import tell
from probate.control.world import World
from probate.gc import circles, decide, strays
from probate.gc.figures import Timeline
from probate.gc.pending import Appointments, Expansion, Pending
from probate.machinery.ownership import Action, Change, Drop, Item, Outcome, Owner, Places, Release, Seen, Standing, Unblock

TURN = 1_000
"""Objects that are looked at in one turn: their decisions are committed together."""
PIECE = 200
"""Objects that are decided about before others get the event loop; owners whose dependents are looked up together, and how many of
each. (Each dependent that goes is looked up as an owner once, so both go on at the same pace.)"""
NOTE_SECONDS = 5.0
RETRY_SECONDS = 1.0
BIRTH_SECONDS = 0.006
"""A new object whose owner is not there is left alone this long: whoever made it may be in the middle of saying more about it."""

BEGINNING = 1
"""The revision that work comes from which no single change has made."""

log = logging.getLogger(__name__)

Work: TypeAlias = dict[str, int]
"""Where something is to be looked at, and since which revision."""


class Collector:
    """One collector on one world. `patience` is how long an owner is held for a controller that has not seen it go."""

    def __init__(self, world: World, clock: Clock, *, patience: float = 1.0) -> None:
        self._world = world
        self._clock = clock
        self._patience = patience
        self._pending = Pending()
        self._work = asyncio.Event()
        self._later = Appointments()
        self._held: dict[str, tuple[str, float]] = {}  # owners whose controller lags, by where: their uid, and since when
        self._orphaning: dict[str, int] = {}  # owners that let go of dependents in this turn
        self._has_failed = False  # any action of the last ones
        self._acting: list[asyncio.Task[None]] = []  # the turn whose decisions are being carried out, if any
        self._seen = 0  # all changes up to here have become work
        self._noted = 0
        self._noted_at = 0.0
        self.following = asyncio.Event()  # while changes are followed
        self._trouble = "it has not begun yet"
        self._is_at_work = False
        self._timeline = Timeline()
        self.done: Counter[str] = Counter()  # actions by name
        self.failures: Counter[str] = Counter()  # by resource

    @property
    def queue_length(self) -> int:
        return len(self._pending) + len(self._later)

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
        return self._seen

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
        if not self._seen:
            noted = await self._world.position()
            if noted is None:
                self._trouble = "it is new here, and looks at everything once"
                await self._begin_anew()
            else:
                self._seen = self._noted = noted
        async with self._world.changes(self._seen) as changes:
            self.following.set()
            under_way: list[asyncio.Task[Any]] = [asyncio.create_task(self._collect())]
            try:
                while True:
                    under_way[1:] = [asyncio.create_task(_next(changes))]
                    await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                    working, reading = under_way
                    if working.done():
                        working.result()
                    self._take(reading.result())
            finally:
                self.following.clear()
                await tasks.stop(*under_way)

    def _take(self, changes: list[Change]) -> None:
        self._timeline.note(self._seen, self._clock.monotonic())
        for change in changes:
            if born := self._pending.note(change):
                self._look_later(born, change.revision)
        self._seen = changes[-1].revision
        if changes[0].before is not None or changes[0].after is not None:
            self._work.set()

    def _look_later(self, born: str, revision: int) -> None:
        self._later.add(self._clock.monotonic() + BIRTH_SECONDS, "born", born, revision)

    async def _begin_anew(self) -> None:
        """Look at everything as if it had just been created, and note no position before that is done."""
        revision, more = await self._world.revision(), ""
        while True:
            page = await self._world.everything(more, limit=TURN)
            for item in _there(await self._world.items(page.wheres)):
                if born := self._pending.note(Change(BEGINNING, None, item)):
                    self._look_later(born, BEGINNING)
            more = page.more
            if not more:
                break
            await asyncio.sleep(0)
        self._seen = revision
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
                    await self._break_circles()
                await self._note_position()
        finally:
            await tasks.stop(*self._acting)
            self._acting.clear()

    async def _work_off(self) -> None:
        """Turn after turn until nothing is left. While the decisions of one become durable, the next is prepared."""
        self._keep_appointments()
        while self._pending or self._acting:
            if self._pending:
                await self._turn()
            else:
                await self._finish_acting()
            await turns.turn()
            self._keep_appointments()

    async def _finish_acting(self) -> None:
        if self._acting:
            await self._acting[0]
            self._acting.clear()

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
            asyncio.ensure_future(self._clock.sleep(soonest - self._clock.monotonic())),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.stop(*waiting)

    def _keep_appointments(self) -> None:
        pending = self._pending
        work = {"born": pending.born, "examine": pending.examine, "settle": pending.settle, "stuck": pending.stuck}
        for kind, where, since in self._later.due(self._clock.monotonic()):
            work[kind].setdefault(where, since)

    async def _note_position(self) -> None:
        now = self._clock.monotonic()
        if self._seen <= self._noted or (self._noted and now - self._noted_at < NOTE_SECONDS):
            return
        open_ = [since - 1 for since in (self._pending.oldest(), self._later.oldest()) if since is not None]
        position = min([self._seen, *open_])
        if position > self._noted:
            await self._world.note_position(position)
            self._noted, self._noted_at = position, now

    # --- one turn -----------------------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        await self._find_kinds()
        await self._find_owners()
        examined = await self._gather()
        born = dict(_drain(self._pending.born, turns.piece(TURN)))
        settled = dict(_drain(self._pending.settle, turns.piece(TURN)))
        try:
            actions: list[Action] = []
            for piece in _pieces(list(examined)):
                actions += await self._decide(_there(await self._world.items(piece)))
            for piece in _pieces(list(born)):
                actions += await self._decide(_there(await self._world.items(piece)), born)
            leaving: list[Action] = []
            for where, item in zip(settled, await self._world.items(list(settled)), strict=True):
                if item is None:
                    self._held.pop(where, None)
                else:
                    leaving += await self._settle(item, settled[where])
            actions += await self._without_blocked(leaving, settled)
            # All were looked at together: who keeps an object for another owner's sake must not be changed by the same turn before.
            actions.sort(key=_is_not_drop)
            await self._finish_acting()
        except BaseException:
            self._look_again(examined, born, settled)
            raise
        orphaning, self._orphaning = self._orphaning, {}
        self._acting.append(asyncio.create_task(self._carry_out(actions, examined, born, settled, orphaning)))

    async def _carry_out(self, actions: list[Action], examined: Work, born: Work, settled: Work, orphaning: Work) -> None:
        try:
            await self._act(actions, {**settled, **born, **examined})
            self._go_on_orphaning(orphaning)
        except BaseException:
            self._look_again(examined, born, settled)
            raise

    def _look_again(self, examined: Work, born: Work, settled: Work) -> None:
        """Nothing is forgotten when a turn fails: all of it is looked at again."""
        self._pending.examine.update(examined)
        self._pending.born.update(born)
        self._pending.settle.update(settled)

    async def _find_kinds(self) -> None:
        """Whoever refers to owners of a kind that came or went is looked at again."""
        while self._pending.kinds:
            where, since = next(iter(self._pending.kinds.items()))
            for user in await self._world.users_of(where):
                self._pending.examine.setdefault(user, since)
            del self._pending.kinds[where]

    async def _find_owners(self) -> None:
        """Of the owners that somebody blocked until now, those that wait may be free."""
        if not self._pending.owners:
            return
        asked = list(islice(self._pending.owners.items(), turns.piece(TURN)))
        blocked = await self._blocked([(item, owner) for (_, owner), (item, _) in asked])
        for (key, (_, since)), waiting in zip(asked, blocked, strict=True):
            if waiting is not None:
                self._pending.settle.setdefault(waiting.where, since)
            del self._pending.owners[key]

    async def _gather(self) -> dict[str, int]:
        """Where the objects are that this turn looks at, each with the revision that it is looked at for."""
        turn, piece = turns.piece(TURN), turns.piece(PIECE)
        found = dict(_drain(self._pending.examine, turn))
        try:
            asked = 0
            while len(found) < turn and asked < turn and (some := list(islice(self._pending.expand.values(), piece))):
                asked += len(some)
                for one, page in zip(some, await self._expand(some), strict=True):
                    if page.wheres:
                        found.update(dict.fromkeys(page.wheres, one.since))
                    self._note_expanded(one, page.more)
        except BaseException:  # nothing is forgotten
            self._pending.examine.update(found)
            raise
        return found

    def _note_expanded(self, one: Expansion, more: str) -> None:
        uid = one.owner.meta.uid
        if self._pending.expand.get(uid) is not one:
            return  # it was asked for again meanwhile: from the beginning
        if more:
            self._pending.expand[uid] = msgspec.structs.replace(one, more=more)  # it stays the first: it has begun
        else:
            del self._pending.expand[uid]

    async def _expand(self, some: list[Expansion]) -> list[Places]:
        """The next dependents of each. Most that went had none: those are found out together."""
        fresh = [one for one in some if not one.more and not one.is_for_blockers]
        first = iter(await self._world.dependents([one.owner for one in fresh], limit=PIECE) if fresh else [])
        return [
            await self._world.more_dependents(one.owner, one.more, limit=turns.piece(PIECE), are_blocking=one.is_for_blockers)
            if one.more or one.is_for_blockers
            else next(first)
            for one in some
        ]

    async def _decide(self, items: list[Item], born: dict[str, int] | None = None) -> list[Action]:
        families = _families([item for item in items if item.meta.owner_references and not item.is_deleting])
        looked_at = list(zip(families, await self._look_at_owners(families), strict=True))
        await strays.warn(self._world, looked_at, self._pending.gone)
        judged = [
            (item, judgement)
            for family, owners in looked_at
            if (judgement := decide.judge(owners)) is not decide.FINE
            for item in (family if born is None else self._too_late(family, owners, born))
        ]
        has_dependents = await self._with_dependents([item for item, judgement in judged if judgement.needs_to_know_dependents])
        decided = [decide.decide(item, judgement, has_dependents=item.where in has_dependents) for item, judgement in judged]
        return [action for action in decided if action is not None]

    async def _with_dependents(self, items: list[Item]) -> set[str]:
        """Where those of the items are that have dependents.

        Who has none is looked up no more when it goes: whatever refers to it later has to come by first. That holds only if no
        change has come by already that is newer than what was looked at.
        """
        if not items:
            return set()
        revision = await self._world.revision()
        pages = await self._world.dependents(items, limit=1)
        if self._seen <= revision:
            for item, page in zip(items, pages, strict=True):
                if not page.wheres:
                    self._pending.childless[item.meta.uid] = True
        return {item.where for item, page in zip(items, pages, strict=True) if page.wheres}

    def _too_late(self, family: list[Item], owners: decide.Owners, born: dict[str, int]) -> list[Item]:
        """Those new objects that have to be dealt with at once. One whose owner waits has time until the owner cannot leave."""
        for owner, seen in owners:
            if seen.standing is Standing.WAITING:
                for item in family:
                    self._pending.come_late(owner.uid, item.where, born[item.where])
        return family if any(seen.standing is Standing.DANGLING for _, seen in owners) else []

    async def _look_at_owners(self, families: list[list[Item]]) -> list[decide.Owners]:
        """How the owners of each family stand."""
        asked = [(family[0], owner) for family in families for owner in family[0].meta.owner_references]
        seen = iter(await self._world.owners(asked) if asked else [])
        return [
            [(owner, self._known(family[0], owner, next(seen))) for owner in family[0].meta.owner_references] for family in families
        ]

    def _known(self, item: Item, owner: Owner, seen: Seen) -> Seen:
        """An owner that was seen to go is gone, also if its kind went with it."""
        is_gone = seen.standing is Standing.UNKNOWN and self._pending.saw_go(owner, item.meta.namespace)
        return Seen(Standing.DANGLING) if is_gone else seen

    async def _settle(self, item: Item, since: int) -> list[Action]:
        """What an owner that is being deleted needs to leave."""
        if not (item.is_waiting or item.is_orphaning):
            self._held.pop(item.where, None)
            return []
        if item.is_lagging and not self._is_patience_over(item):
            self._later.add(self._clock.monotonic() + self._patience, "settle", item.where, since)
            return []
        self._held.pop(item.where, None)
        if item.is_lagging:
            await self._world.warn(
                item, "ControllerLags", "its controller did not take notice of the deletion in time; going on without it"
            )
        return await self._orphan(item, since) if item.is_orphaning else [Release(item, "no dependent blocks it")]

    async def _without_blocked(self, actions: list[Action], since: dict[str, int]) -> list[Action]:
        """The actions, less the releases that would be refused: an owner of many is looked at whenever one of them goes."""
        releases = [one for one in actions if isinstance(one, Release) and one.item.is_waiting]
        blocked = await self._world.are_blocked([one.item for one in releases]) if releases else []
        held = await self._world.revision() if any(blocked) else 0
        kept = {one.item.where: one.item for one, is_blocked in zip(releases, blocked, strict=True) if is_blocked}
        for where, item in kept.items():
            self._hold(item, since[where], held)
        return [one for one in actions if not isinstance(one, Release) or one.item.where not in kept]

    def _is_patience_over(self, item: Item) -> bool:
        uid, began = self._held.get(item.where, ("", 0.0))
        if uid != item.meta.uid:
            began = self._clock.monotonic()
            self._held[item.where] = item.meta.uid, began
        return self._clock.monotonic() - began >= self._patience

    async def _orphan(self, item: Item, since: int) -> list[Action]:
        page = await self._world.mentions(item, limit=turns.piece(TURN))
        if not page.wheres:
            return [Release(item, "no dependent refers to it")]
        self._orphaning[item.where] = since
        because = f"owner {item.meta.name} ({item.meta.uid}) leaves its dependents behind"
        uids = frozenset({item.meta.uid})
        return [Drop(one, uids, because, (item,)) for one in _there(await self._world.items(page.wheres))]

    def _go_on_orphaning(self, orphaning: Work) -> None:
        """Owners that let go of their dependents are looked at again: at once, or later if something failed."""
        for where, since in orphaning.items():
            if self._has_failed:
                self._later.add(self._clock.monotonic() + RETRY_SECONDS, "settle", where, since)
            else:
                self._pending.settle.setdefault(where, since)

    async def _act(self, actions: list[Action], since: dict[str, int]) -> None:
        outcomes = await self._world.act(actions) if actions else []
        self._has_failed = Outcome.FAILED in outcomes
        tell(log, self._world, zip(actions, outcomes, strict=True))
        held = await self._world.revision() if Outcome.HELD in outcomes else 0
        self.done.update([type(one).__name__ for one, outcome in zip(actions, outcomes, strict=True) if outcome is Outcome.DONE])
        for action, outcome in zip(actions, outcomes, strict=True):
            if outcome is Outcome.DONE:
                continue
            revision = since.get(action.item.where, self._seen)
            if outcome is Outcome.HELD:
                self._hold(action.item, revision, held)
            elif outcome is Outcome.CHANGED:
                self._again(action).setdefault(action.item.where, revision)
            else:
                self.failures[action.item.where.split("/")[1]] += 1
                kind = {Release: "settle", Unblock: "stuck"}.get(type(action), "examine")
                self._later.add(self._clock.monotonic() + RETRY_SECONDS, kind, action.item.where, revision)

    def _hold(self, item: Item, since: int, held: int) -> None:
        """It cannot leave yet."""
        if item.is_orphaning:
            self._pending.settle.setdefault(item.where, since)
        else:
            self._pending.look_for_late(item, since, held)
            self._pending.stuck.setdefault(item.where, since)

    def _again(self, action: Action) -> dict[str, int]:
        if isinstance(action, Unblock):
            return self._pending.stuck
        return self._pending.settle if isinstance(action, Release) else self._pending.examine

    # --- circles ------------------------------------------------------------------------------------------------------

    async def _break_circles(self) -> None:
        """Look for circles among those who cannot leave, whenever there are new ones."""
        stuck, self._pending.stuck = self._pending.stuck, {}
        try:
            await self._act(await self._find_circles(list(stuck)), stuck)
        except BaseException:  # nothing is forgotten
            self._pending.stuck = stuck | self._pending.stuck
            raise

    async def _find_circles(self, stuck: list[str]) -> list[Action]:
        """What opens each circle. Those who wait for others stay as they are."""
        nodes: dict[str, Item] = {}
        points_at: dict[str, list[str]] = {}
        frontier = [item for item in _there(await self._world.items(stuck)) if item.is_waiting]
        while frontier:
            nodes.update((item.where, item) for item in frontier)
            asked = [(item, owner) for item in frontier for owner in item.meta.owner_references if owner.block_owner_deletion]
            frontier = []
            for (item, _), waiting in zip(asked, await self._blocked(asked), strict=True):
                if waiting is not None:
                    points_at.setdefault(item.where, []).append(waiting.where)
                    if waiting.where not in nodes:
                        nodes[waiting.where] = waiting
                        frontier.append(waiting)
        return [_open([nodes[where] for where in sorted(circle)]) for circle in circles.circles(points_at)]

    async def _blocked(self, asked: list[tuple[Item, Owner]]) -> list[Item | None]:
        """The owners that wait. A reference blocks by its uid alone, so one that is wrong about the rest is followed too."""
        seen = await self._world.owners(asked)
        gone = self._pending.gone
        lost = {owner.uid for (_, owner), one in zip(asked, seen, strict=True) if one.item is None and owner.uid not in gone}
        found = {item.meta.uid: item for item in await self._world.waiting(list(lost))} if lost else {}
        return [_waiting(one, found.get(owner.uid), by) for (by, owner), one in zip(asked, seen, strict=True)]


def _is_not_drop(action: Action) -> bool:
    return not isinstance(action, Drop)


def _open(circle: list[Item]) -> Action:
    """Let one of them block the others no more, as long as the circle is what it was found to be. What is left comes again.

    It is the one that closed the circle by being deleted last, as in Kubernetes.
    """
    one = max(circle, key=lambda item: item.revision)
    others = [item for item in circle if item is not one]
    uids = frozenset(item.meta.uid for item in circle)
    return Unblock(one, uids, "it and its owners wait for each other", tuple(others[: decide.MAX_GIVEN]))


def _waiting(seen: Seen, found: Item | None, by: Item) -> Item | None:
    """The owner if it waits, as it was seen under its name or else found by its uid."""
    if seen.item is not None:
        return seen.item if seen.standing is Standing.WAITING else None
    return found if found is not None and found.meta.namespace in {"", by.meta.namespace} else None


async def _next(changes: AsyncIterator[list[Change]]) -> list[Change]:
    return await anext(changes)


def _families(items: list[Item]) -> list[list[Item]]:
    """The items, those together that have the same owners."""
    found: dict[tuple[str, tuple[Owner, ...]], list[Item]] = {}
    for item in items:
        found.setdefault((item.meta.namespace, tuple(item.meta.owner_references)), []).append(item)
    return list(found.values())


def _pieces(wheres: list[str]) -> Iterator[list[str]]:
    piece = turns.piece(PIECE)
    return (wheres[start : start + piece] for start in range(0, len(wheres), piece))


def _there(items: list[Item | None]) -> list[Item]:
    return [item for item in items if item is not None]


def _first(pieces: dict[str, int], number: int) -> list[str]:
    return list(islice(pieces, number))


def _drain(pieces: dict[str, int], number: int) -> list[tuple[str, int]]:
    return [(where, pieces.pop(where)) for where in _first(pieces, number)]
