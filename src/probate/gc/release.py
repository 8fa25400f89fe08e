"""Owners that are on their way out: those that wait for blockers to go, and those that leave their dependents behind.

One whose controller has not seen yet that it is to go is held for a while (`patience`), for that controller could make it new
dependents.
"""

from __future__ import annotations

from probate.api.deletion import Policy
from probate.api.ownership import Action, Delete, Drop, Item, Release
from probate.core.aio import time_slices
from probate.core.clock import Clock
from probate.gc.backend import World
from probate.gc.resolver import TURN, there
from probate.gc.workqueue import Appointments, Pending, Work

RETRY_SECONDS = 1.0
FREE = "no dependent blocks it"
LEFT_OVER = "it was to be removed right after it was marked, and nothing holds it"


class Leaving:
    """Lets owners of one world leave."""

    def __init__(self, world: World, clock: Clock, pending: Pending, later: Appointments, *, patience: float) -> None:
        self._world = world
        self._clock = clock
        self._pending = pending
        self._later = later
        self._patience = patience
        self._held: dict[str, tuple[str, float]] = {}  # owners whose controller lags, by where: their uid, and since when
        self._orphaning: Work = {}  # owners that let go of dependents in this turn
        self._stripped: dict[str, str] = {}  # owners whose references cluster-scoped objects have lost, by where: their uid

    async def settle(self, settled: Work) -> list[Action]:
        """What these owners need to leave."""
        actions: list[Action] = []
        for where, item in (await self._items(settled)).items():
            if item is None or not item.is_orphaning:
                self._stripped.pop(where, None)
            if item is None:
                self._held.pop(where, None)
            else:
                actions += await self._settle(item, settled[where])
        return await self._without_blocked(actions, settled)

    async def _items(self, settled: Work) -> dict[str, Item | None]:
        """These owners: as last seen, if they wait. Whatever is done about one asks that it is still so."""
        found: dict[str, Item | None] = {where: self._pending.waiting.get(where) for where in settled}
        unseen = [where for where, item in found.items() if item is None]
        return found | dict(zip(unseen, await self._world.items(unseen), strict=True)) if unseen else found

    def release_after(self, actions: list[Action]) -> list[Action]:
        """Releases of the owners that wait for what these actions remove, and of those that wait for these owners in turn.

        With the last of its dependents an owner can go at once, in the same turn. Whether it was the last is for the store to say:
        an owner that is still held is looked at again when another one has gone, as ever.
        """
        if not self._pending.waiting:
            return []
        going = [action.item for action in actions if _removes(action)]
        known = {item.where for item in going}
        found: list[Action] = []
        while going:
            owners = {one.where: one for item in going for one in self._pending.waiting_for(item) if one.where not in known}
            going = [owner for owner in owners.values() if not owner.is_lagging]
            known.update(owners)
            found += [Release(owner, FREE) for owner in going]
        return found

    def take_orphaning(self) -> Work:
        """The owners that let go of dependents since the last call."""
        orphaning, self._orphaning = self._orphaning, {}
        return orphaning

    def go_on_orphaning(self, orphaning: Work, *, has_failed: bool) -> None:
        """Owners that let go of their dependents are looked at again: at once, or later if something failed."""
        for where, since in orphaning.items():
            if has_failed:
                self._later.add(self._clock.monotonic() + RETRY_SECONDS, "settle", where, since)
            else:
                self._pending.settle.setdefault(where, since)

    def hold(self, item: Item, since: int, held: int) -> None:
        """It cannot leave yet: at revision `held` something held it."""
        if item.is_orphaning:
            self._pending.settle.setdefault(item.where, since)
        else:
            self._pending.look_for_late(item, since, held)
            self._pending.stuck.setdefault(item.where, since)

    async def _settle(self, item: Item, since: int) -> list[Action]:
        if not (item.is_waiting or item.is_orphaning):
            self._held.pop(item.where, None)
            return [Delete(item, Policy.BACKGROUND, LEFT_OVER)] if item.is_left_over else []
        if item.is_lagging and not self._is_patience_over(item):
            self._later.add(self._clock.monotonic() + self._patience, "settle", item.where, since)
            return []
        self._held.pop(item.where, None)
        if item.is_lagging:
            await self._world.warn(
                item, "ControllerLags", "its controller did not take notice of the deletion in time; going on without it"
            )
        return await self._orphan(item, since) if item.is_orphaning else [Release(item, FREE)]

    async def _without_blocked(self, actions: list[Action], since: Work) -> list[Action]:
        """The actions, less the releases that would be refused: an owner of many is looked at whenever one of them goes."""
        releases = [one for one in actions if isinstance(one, Release) and one.item.is_waiting]
        blocked = await self._world.are_blocked([one.item for one in releases]) if releases else []
        held = await self._world.revision() if any(blocked) else 0
        kept = {one.item.where: one.item for one, is_blocked in zip(releases, blocked, strict=True) if is_blocked}
        for where, item in kept.items():
            self.hold(item, since[where], held)
        return [one for one in actions if not isinstance(one, Release) or one.item.where not in kept]

    def _is_patience_over(self, item: Item) -> bool:
        uid, began = self._held.get(item.where, ("", 0.0))
        if uid != item.meta.uid:
            began = self._clock.monotonic()
            self._held[item.where] = item.meta.uid, began
        return self._clock.monotonic() - began >= self._patience

    async def _orphan(self, item: Item, since: int) -> list[Action]:
        # Only dependents that count hold the owner: else ever new references from other namespaces would hold it for ever.
        (page,) = await self._world.dependents([item], limit=time_slices.piece(TURN))
        if not page.wheres:
            return await self._strip_cluster_scoped(item, since) or [Release(item, "no dependent refers to it")]
        readable = there(await self._world.items(page.wheres))
        if not readable:  # damaged: the owner stays until they are removed. (Or they have just gone.)
            self._later.add(self._clock.monotonic() + RETRY_SECONDS, "settle", item.where, since)
            return []
        self._orphaning[item.where] = since
        return _orphaned(item, readable)

    async def _strip_cluster_scoped(self, item: Item, since: int) -> list[Action]:
        """Takes the owner's references off cluster-scoped objects, as Kubernetes does, although it could not own them.

        This is done once, for the first turn's worth of them. The owner leaves whether or not it succeeds, so they cannot hold it.
        """
        if self._stripped.pop(item.where, "") == item.meta.uid:
            return []
        page = await self._world.cluster_scoped_dependents(item, limit=time_slices.piece(TURN))
        readable = there(await self._world.items(page.wheres)) if page.wheres else []
        if readable:
            self._stripped[item.where] = item.meta.uid
            self._orphaning[item.where] = since
        return _orphaned(item, readable)


def _orphaned(owner: Item, dependents: list[Item]) -> list[Action]:
    because = f"owner {owner.meta.name} ({owner.meta.uid}) leaves its dependents behind"
    return [Drop(one, frozenset({owner.meta.uid}), because, (owner,)) for one in dependents]


def _removes(action: Action) -> bool:
    """Whether the item goes at once, if nothing has changed."""
    if isinstance(action, Delete):
        return action.policy is Policy.BACKGROUND and not action.item.meta.finalizers
    return isinstance(action, Release)
