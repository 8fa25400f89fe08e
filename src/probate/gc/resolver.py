"""What one turn of the collector looks at, and what that comes to: from pieces of work to items, from their owners to actions.

Nothing is changed here but what is pending. What fails in the middle is not forgotten: it is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from probate.api.ownership import Action, Item, Owner, Places, Seen, Standing
from probate.core.aio import time_slices
from probate.gc import cross_namespace, decide
from probate.gc.backend import World
from probate.gc.decide import Owners
from probate.gc.workqueue import Expansion, Pending, Work

TURN = 1_000
"""Objects that are looked at in one turn: their decisions are committed together."""
PIECE = 200
"""Objects that are decided about before others get the event loop; owners whose dependents are looked up together, and how many of
each. (Each dependent that goes is looked up as an owner once, so both go on at the same pace.)"""

NOBODY: Mapping[str, Item] = {}
NOWHERE = Places([])


class Looking:
    """Looks at one world, for what is pending."""

    def __init__(self, world: World, pending: Pending) -> None:
        self._world = world
        self._pending = pending

    async def find_kinds(self) -> None:
        """Whoever refers to owners of a kind that came or went is looked at again."""
        while self._pending.kinds:
            where, since = next(iter(self._pending.kinds.items()))
            for user in await self._world.users_of(where):
                self._pending.examine.setdefault(user, since)
            del self._pending.kinds[where]

    async def find_owners(self) -> None:
        """Of the owners that somebody blocked until now, those that wait may be free."""
        if not self._pending.owners:
            return
        asked = list(islice(self._pending.owners.items(), time_slices.piece(TURN)))
        blocked = await self.blocked([(item, owner) for _, (item, owner, _) in asked], known=self._pending.waiting)
        for (key, (_, _, since)), waiting in zip(asked, blocked, strict=True):
            if waiting is not None:
                self._pending.settle.setdefault(waiting.where, since)
            del self._pending.owners[key]

    async def blocked(self, asked: list[tuple[Item, Owner]], *, known: Mapping[str, Item] = NOBODY) -> list[Item | None]:
        """The owners that wait. A reference blocks by its uid alone, so one that is wrong about the rest is followed too."""
        seen = await self._world.owners(asked, known=known)
        gone = self._pending.gone
        lost = {owner.uid for (_, owner), one in zip(asked, seen, strict=True) if one.item is None and owner.uid not in gone}
        found = {item.meta.uid: item for item in await self._world.waiting(list(lost))} if lost else {}
        return [_waiting(one, found.get(owner.uid), by) for (by, owner), one in zip(asked, seen, strict=True)]

    async def gather(self) -> Work:
        """Where the objects are that this turn looks at, each with the revision that it is looked at for."""
        turn, piece = time_slices.piece(TURN), time_slices.piece(PIECE)
        found = drain(self._pending.examine)
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
        first = await self._first([one.owner for one in some if not one.more and not one.is_for_blockers])
        return [
            await self._world.more_dependents(one.owner, one.more, limit=time_slices.piece(PIECE), are_blocking=one.is_for_blockers)
            if one.more or one.is_for_blockers
            else first.get(one.owner.meta.uid, NOWHERE)
            for one in some
        ]

    async def _first(self, owners: list[Item]) -> dict[str, Places]:
        """The first dependents of those that have any, by the owner's uid. Who waits has some, who went hardly ever."""
        asked = [one for one in owners if one.where in self._pending.waiting]
        went = [one for one in owners if one.where not in self._pending.waiting]  # (that may change meanwhile)
        if went:
            asked += [one for one, has in zip(went, await self._world.have_dependents(went), strict=True) if has]
        pages = await self._world.dependents(asked, limit=PIECE) if asked else []
        return {one.meta.uid: page for one, page in zip(asked, pages, strict=True)}

    async def decide(self, work: Work, *, are_born: bool = False) -> list[Action]:
        """What is to be done about these objects. Those just born may have time."""
        actions: list[Action] = []
        for piece in _pieces(list(work)):
            actions += await self._decide(there(await self._world.items(piece)), work if are_born else None)
        return actions

    async def _decide(self, items: list[Item], born: Work | None) -> list[Action]:
        families = _families([item for item in items if item.meta.owner_references and not item.is_deleting])
        looked_at = list(zip(families, await self._look_at_owners(families), strict=True))
        await cross_namespace.warn(self._world, looked_at, self._pending.gone)
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
        have = await self._world.have_dependents(items)
        if self._pending.seen <= revision:
            for item, has in zip(items, have, strict=True):
                if not has:
                    self._pending.childless[item.meta.uid] = True
        return {item.where for item, has in zip(items, have, strict=True) if has}

    def _too_late(self, family: list[Item], owners: Owners, born: Work) -> list[Item]:
        """Those new objects that have to be dealt with at once. One whose owner waits has time until the owner cannot leave."""
        for _, seen in owners:
            if seen.standing is Standing.WAITING and seen.item is not None:
                for item in family:
                    self._pending.come_late(seen.item, item.where, born[item.where])
        return family if any(seen.standing is Standing.DANGLING for _, seen in owners) else []

    async def _look_at_owners(self, families: list[list[Item]]) -> list[Owners]:
        """How the owners of each family stand. Those that wait are taken as last seen: what is decided asks that they still are."""
        asked = [(family[0], owner) for family in families for owner in family[0].meta.owner_references]
        known = self._pending.waiting if all(len(one[0].meta.owner_references) <= decide.MAX_GIVEN for one in families) else NOBODY
        seen = iter(await self._world.owners(asked, known=known) if asked else [])
        return [
            [(owner, self._known(family[0], owner, next(seen))) for owner in family[0].meta.owner_references] for family in families
        ]

    def _known(self, item: Item, owner: Owner, seen: Seen) -> Seen:
        """An owner that was seen to go is gone, also if its kind went with it."""
        is_gone = seen.standing is Standing.UNKNOWN and self._pending.saw_go(owner, item.meta.namespace)
        return Seen(Standing.DANGLING) if is_gone else seen


def there(items: list[Item | None]) -> list[Item]:
    """Those that are there."""
    return [item for item in items if item is not None]


def drain(pieces: Work) -> Work:
    """As much of the work as one turn takes, taken off."""
    return {where: pieces.pop(where) for where in list(islice(pieces, time_slices.piece(TURN)))}


def _waiting(seen: Seen, found: Item | None, by: Item) -> Item | None:
    """The owner if it waits, as it was seen under its name or else found by its uid."""
    if seen.item is not None:
        return seen.item if seen.standing is Standing.WAITING else None
    return found if found is not None and found.meta.namespace in {"", by.meta.namespace} else None


def _families(items: list[Item]) -> list[list[Item]]:
    """The items, those together that have the same owners."""
    found: dict[tuple[str, tuple[Owner, ...]], list[Item]] = {}
    family: list[Item] = []
    for item in items:
        meta = item.meta
        if not family or meta.owner_references != family[0].meta.owner_references or meta.namespace != family[0].meta.namespace:
            family = found.setdefault((meta.namespace, tuple(meta.owner_references)), [])
        family.append(item)
    return list(found.values())


def _pieces(wheres: list[str]) -> Iterator[list[str]]:
    piece = time_slices.piece(PIECE)
    return (wheres[start : start + piece] for start in range(0, len(wheres), piece))
