"""Turns one turn's work into actions: lists dependents, resolves owners, and applies the rules of `decide`.

Nothing but the work queue changes here. Work that fails halfway stays queued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from probate.api.object_keys import Key
from probate.api.ownership import Action, Item, KeyPage, OwnerReference, OwnerState, ResolvedOwner, Uid
from probate.core.aio import time_slices
from probate.gc import cross_namespace, decide
from probate.gc.backend import Backend
from probate.gc.decide import Owners
from probate.gc.workqueue import Expansion, Work, WorkQueue

TURN = 1_000
"""Objects that are checked in one turn: their decisions are committed together."""
PIECE = 200
"""Objects that are decided on before the event loop gets control; also owners whose dependents are listed together, and how many
dependents of each. (Each dependent that is removed is expanded as an owner once, so both proceed at the same pace.)"""

NO_ITEMS: Mapping[Key, Item] = {}
NO_KEYS = KeyPage([])


class Resolver:
    """Resolves the queued work on one backend."""

    def __init__(self, backend: Backend, queue: WorkQueue) -> None:
        self._backend = backend
        self._queue = queue

    async def expand_kinds(self) -> None:
        """Queues all objects that refer to owners of a custom kind that was created or removed."""
        while self._queue.crds:
            crd, since = next(iter(self._queue.crds.items()))
            for key in await self._backend.list_dependents_of_kind(crd):
                self._queue.objects.setdefault(key, since)
            del self._queue.crds[crd]

    async def queue_unblocked_owners(self) -> None:
        """Queues for release those of the unblocked owners that are waiting."""
        if not self._queue.unblocked:
            return
        unblocked = list(islice(self._queue.unblocked.items(), time_slices.slice_size(TURN)))
        references = [(item, owner) for _, (item, owner, _) in unblocked]
        owners = await self.waiting_owners(references, known=self._queue.waiting)
        for (uid, (_, _, since)), owner in zip(unblocked, owners, strict=True):
            if owner is not None:
                self._queue.releases.setdefault(owner.key, since)
            del self._queue.unblocked[uid]

    async def waiting_owners(
        self, references: list[tuple[Item, OwnerReference]], *, known: Mapping[Key, Item] = NO_ITEMS
    ) -> list[Item | None]:
        """Returns the owner of each reference if it is waiting.

        A reference blocks by its uid alone, so one that is wrong about kind or name is followed too.
        """
        resolved = await self._backend.resolve_owners(references, known=known)
        removed = self._queue.removed
        missing = {
            reference.uid
            for (_, reference), owner in zip(references, resolved, strict=True)
            if owner.item is None and reference.uid not in removed
        }
        by_uid = {item.meta.uid: item for item in await self._backend.find_waiting(list(missing))} if missing else {}
        return [
            _if_waiting(owner, by_uid.get(reference.uid), item)
            for (item, reference), owner in zip(references, resolved, strict=True)
        ]

    async def take_objects(self) -> Work:
        """Takes the objects that this turn checks off the queue, with the next dependents of owners to expand."""
        turn, piece = time_slices.slice_size(TURN), time_slices.slice_size(PIECE)
        work = take(self._queue.objects)
        try:
            owners = 0
            while len(work) < turn and owners < turn and (batch := list(islice(self._queue.expansions.values(), piece))):
                owners += len(batch)
                for expansion, page in zip(batch, await self._expand(batch), strict=True):
                    if page.keys:
                        work.update(dict.fromkeys(page.keys, expansion.since))
                    self._continue_expansion(expansion, page.continue_token)
        except BaseException:  # nothing is lost
            self._queue.objects.update(work)
            raise
        return work

    def _continue_expansion(self, expansion: Expansion, continue_token: str) -> None:
        uid = expansion.owner.meta.uid
        if self._queue.expansions.get(uid) is not expansion:
            return  # it was queued again meanwhile: from the first page
        if continue_token:  # it stays first in the queue, since it has begun
            self._queue.expansions[uid] = msgspec.structs.replace(expansion, continue_token=continue_token)
        else:
            del self._queue.expansions[uid]

    async def _expand(self, expansions: list[Expansion]) -> list[KeyPage]:
        """Returns the next dependents of each owner. Fast path: most removed owners had none, and one query covers all owners."""
        first = await self._first_dependents(
            [expansion.owner for expansion in expansions if not expansion.continue_token and not expansion.only_blocking]
        )
        return [
            await self._backend.next_dependents(
                expansion.owner,
                expansion.continue_token,
                limit=time_slices.slice_size(PIECE),
                are_blocking=expansion.only_blocking,
            )
            if expansion.continue_token or expansion.only_blocking
            else first.get(expansion.owner.meta.uid, NO_KEYS)
            for expansion in expansions
        ]

    async def _first_dependents(self, owners: list[Item]) -> dict[Uid, KeyPage]:
        """Returns the first dependents of those that have any, by the owner's uid.

        Waiting owners have some, removed ones rarely.
        """
        candidates = [owner for owner in owners if owner.key in self._queue.waiting]
        removed = [owner for owner in owners if owner.key not in self._queue.waiting]  # (before an await: that may change)
        if removed:
            have = await self._backend.have_dependents(removed)
            candidates += [owner for owner, has_dependents in zip(removed, have, strict=True) if has_dependents]
        pages = await self._backend.first_dependents(candidates, limit=PIECE) if candidates else []
        return {owner.meta.uid: page for owner, page in zip(candidates, pages, strict=True)}

    async def decide(self, work: Work, *, are_new: bool = False) -> list[Action]:
        """Returns the actions on these objects. New objects whose owner is waiting are postponed."""
        actions: list[Action] = []
        for piece in _pieces(list(work)):
            actions += await self._decide(existing(await self._backend.get_items(piece)), work if are_new else None)
        return actions

    async def _decide(self, items: list[Item], new: Work | None) -> list[Action]:
        families = _families([item for item in items if item.meta.owner_references and not item.is_deleting])
        resolved = list(zip(families, await self._resolve_families(families), strict=True))
        await cross_namespace.warn(self._backend, resolved, self._queue.removed)
        candidates = [
            (item, status)
            for family, owners in resolved
            if (status := decide.owner_status(owners)) is not decide.FINE
            for item in (family if new is None else self._decidable_now(family, owners, new))
        ]
        with_dependents = await self._keys_with_dependents([item for item, status in candidates if status.depends_on_dependents])
        decisions = [decide.decide(item, status, has_dependents=item.key in with_dependents) for item, status in candidates]
        return [action for action in decisions if action is not None]

    async def _keys_with_dependents(self, items: list[Item]) -> set[Key]:
        """Returns the keys of those items that have dependents.

        An item without dependents is not expanded when it is removed: anything that refers to it later arrives as a change first.
        That holds only if no change has arrived already that is newer than the revision that was read.
        """
        if not items:
            return set()
        revision = await self._backend.revision()
        have = await self._backend.have_dependents(items)
        if self._queue.revision <= revision:
            for item, has_dependents in zip(items, have, strict=True):
                if not has_dependents:
                    self._queue.without_dependents[item.meta.uid] = True
        return {item.key for item, has_dependents in zip(items, have, strict=True) if has_dependents}

    def _decidable_now(self, family: list[Item], owners: Owners, new: Work) -> list[Item]:
        """Returns the new objects to decide on now. One whose owner is waiting is postponed until it blocks the owner."""
        for _, resolved in owners:
            if resolved.state is OwnerState.WAITING and resolved.item is not None:
                for item in family:
                    self._queue.add_late_dependent(resolved.item, item.key, new[item.key])
        return family if any(resolved.state is OwnerState.DANGLING for _, resolved in owners) else []

    async def _resolve_families(self, families: list[list[Item]]) -> list[Owners]:
        """Returns the owners of each family. Waiting owners are used as last seen: each decision is guarded by their revision."""
        references = [(family[0], owner) for family in families for owner in family[0].meta.owner_references]
        has_room = all(len(family[0].meta.owner_references) <= decide.MAX_PRECONDITIONS for family in families)
        known = self._queue.waiting if has_room else NO_ITEMS
        resolved = iter(await self._backend.resolve_owners(references, known=known) if references else [])
        return [
            [(owner, self._dangling_if_removed(family[0], owner, next(resolved))) for owner in family[0].meta.owner_references]
            for family in families
        ]

    def _dangling_if_removed(self, item: Item, owner: OwnerReference, resolved: ResolvedOwner) -> ResolvedOwner:
        """An owner that was seen to be removed is dangling, even if its kind was removed with it and is unknown now."""
        was_removed = resolved.state is OwnerState.UNKNOWN and self._queue.was_removed(owner, item.meta.namespace)
        return ResolvedOwner(OwnerState.DANGLING) if was_removed else resolved


def existing(items: list[Item | None]) -> list[Item]:
    """Returns the items that exist."""
    return [item for item in items if item is not None]


def take(work: Work) -> Work:
    """Removes and returns as much of the work as one turn does."""
    return {key: work.pop(key) for key in list(islice(work, time_slices.slice_size(TURN)))}


def _if_waiting(resolved: ResolvedOwner, by_uid: Item | None, item: Item) -> Item | None:
    """Returns the owner if it is waiting: as resolved by its name, or else as found by its uid."""
    if resolved.item is not None:
        return resolved.item if resolved.state is OwnerState.WAITING else None
    return by_uid if by_uid is not None and by_uid.meta.namespace in {"", item.meta.namespace} else None


def _families(items: list[Item]) -> list[list[Item]]:
    """Groups the items that have the same owners. Fast path: runs of siblings are compared, not hashed."""
    families: dict[tuple[str, tuple[OwnerReference, ...]], list[Item]] = {}
    family: list[Item] = []
    for item in items:
        meta = item.meta
        if not family or meta.owner_references != family[0].meta.owner_references or meta.namespace != family[0].meta.namespace:
            family = families.setdefault((meta.namespace, tuple(meta.owner_references)), [])
        family.append(item)
    return list(families.values())


def _pieces(keys: list[Key]) -> Iterator[list[Key]]:
    piece = time_slices.slice_size(PIECE)
    return (keys[start : start + piece] for start in range(0, len(keys), piece))
