"""Releases deleting owners: removes `foregroundDeletion` once nothing blocks the owner, and `orphan` once nothing refers to it.

The backend executes a release as a guarded action, so an owner never goes before a dependent that blocks it; what is read here only
avoids attempts that would be refused. An owner whose controller has not observed the deletion yet (`observedGeneration` is behind)
is held for `patience` seconds, since that controller could create more dependents.
"""

from __future__ import annotations

from probate.api.deletion import PropagationPolicy
from probate.api.object_keys import Key
from probate.api.ownership import Action, Delete, Item, RemoveFinalizer, RemoveOwnerReferences, Uid
from probate.core.aio import time_slices
from probate.core.clock import Clock
from probate.gc.backend import Backend
from probate.gc.resolver import TURN, existing
from probate.gc.workqueue import RELEASES, DelayingQueue, Work, WorkQueue

RETRY_SECONDS = 1.0
UNBLOCKED = "no dependent blocks it"
REMOVAL_DUE = "it was to be removed right after it was marked, and nothing holds it"


class OwnerRelease:
    """Releases the owners of one backend."""

    def __init__(self, backend: Backend, clock: Clock, queue: WorkQueue, *, later: DelayingQueue, patience: float) -> None:
        self._backend = backend
        self._clock = clock
        self._queue = queue
        self._later = later
        self._patience = patience
        self._lagging: dict[Key, tuple[Uid, float]] = {}  # owners whose controller lags, by key: uid, and since when
        self._orphaning: Work = {}  # owners whose dependents lose their references in this turn
        self._stripped: dict[Key, Uid] = {}  # owners whose references were removed from cluster-scoped objects, by key: uid

    async def plan_releases(self, work: Work) -> list[Action]:
        """Returns the actions that bring these owners closer to removal."""
        actions: list[Action] = []
        for key, item in (await self._items(work)).items():
            if item is None or not item.is_orphaning:
                self._stripped.pop(key, None)
            if item is None:
                self._lagging.pop(key, None)
            else:
                actions += await self._plan_release(item, work[key])
        return await self._without_blocked(actions, work)

    async def _items(self, work: Work) -> dict[Key, Item | None]:
        """Returns these owners; waiting ones as last seen, since every action on them is guarded by their revision."""
        items: dict[Key, Item | None] = {key: self._queue.waiting.get(key) for key in work}
        unread = [key for key, item in items.items() if item is None]
        return items | dict(zip(unread, await self._backend.get_items(unread), strict=True)) if unread else items

    def releases_after(self, actions: list[Action]) -> list[Action]:
        """Returns releases of the owners that wait for what these actions remove, and of the owners that wait for those in turn.

        With the last of its dependents an owner can go at once, in the same turn. Whether it was the last is for the store to
        decide: an owner that is still blocked is queued again when another dependent is removed, as always.
        """
        if not self._queue.waiting:
            return []
        removed = [action.item for action in actions if _removes(action)]
        known = {item.key for item in removed}
        releases: list[Action] = []
        while removed:
            owners = {
                owner.key: owner for item in removed for owner in self._queue.owners_waiting_for(item) if owner.key not in known
            }
            removed = [owner for owner in owners.values() if not owner.is_lagging]
            known.update(owners)
            releases += [RemoveFinalizer(owner, UNBLOCKED) for owner in removed]
        return releases

    def take_orphaning(self) -> Work:
        """Removes and returns the owners whose dependents lose their references since the last call."""
        orphaning, self._orphaning = self._orphaning, {}
        return orphaning

    def continue_orphaning(self, orphaning: Work, *, has_failed: bool) -> None:
        """Queues orphaning owners again: now, or later if an action failed."""
        for key, since in orphaning.items():
            if has_failed:
                self._later.add(self._clock.monotonic() + RETRY_SECONDS, RELEASES, key, since=since)
            else:
                self._queue.releases.setdefault(key, since)

    def hold(self, item: Item, since: int, held: int) -> None:
        """Queues the next attempts for an owner that cannot be released yet: at revision `held` a dependent blocked it."""
        if item.is_orphaning:
            self._queue.releases.setdefault(item.key, since)
        else:
            self._queue.examine_late_dependents(item, since, held)
            self._queue.cycle_candidates.setdefault(item.key, since)

    async def _plan_release(self, item: Item, since: int) -> list[Action]:
        if not (item.is_waiting or item.is_orphaning):
            self._lagging.pop(item.key, None)
            return [Delete(item, PropagationPolicy.BACKGROUND, REMOVAL_DUE)] if item.is_removal_due else []
        if item.is_lagging and not self._is_patience_over(item):
            self._later.add(self._clock.monotonic() + self._patience, RELEASES, item.key, since=since)
            return []
        self._lagging.pop(item.key, None)
        if item.is_lagging:
            await self._backend.record_warning(
                item, "ControllerLags", "its controller did not observe the deletion in time; the deletion continues without it"
            )
        return await self._plan_orphaning(item, since) if item.is_orphaning else [RemoveFinalizer(item, UNBLOCKED)]

    async def _without_blocked(self, actions: list[Action], work: Work) -> list[Action]:
        """Drops the releases that would be refused: an owner of many is queued whenever one of its dependents is removed."""
        releases = [action for action in actions if isinstance(action, RemoveFinalizer) and action.item.is_waiting]
        blocked = await self._backend.have_blocking_dependents([release.item for release in releases]) if releases else []
        held = await self._backend.revision() if any(blocked) else 0
        items = {release.item.key: release.item for release, is_blocked in zip(releases, blocked, strict=True) if is_blocked}
        for key, item in items.items():
            self.hold(item, work[key], held)
        return [action for action in actions if not isinstance(action, RemoveFinalizer) or action.item.key not in items]

    def _is_patience_over(self, item: Item) -> bool:
        uid, began = self._lagging.get(item.key, ("", 0.0))
        if uid != item.meta.uid:
            began = self._clock.monotonic()
            self._lagging[item.key] = item.meta.uid, began
        return self._clock.monotonic() - began >= self._patience

    async def _plan_orphaning(self, item: Item, since: int) -> list[Action]:
        # Only valid dependents hold the owner. Otherwise a stream of new references from other namespaces would hold it forever.
        (page,) = await self._backend.first_dependents([item], limit=time_slices.slice_size(TURN))
        if not page.keys:
            return await self._strip_cluster_scoped(item, since) or [RemoveFinalizer(item, "no dependent refers to it")]
        readable = existing(await self._backend.get_items(page.keys))
        if not readable:  # damaged: the owner stays until they are removed (or they were removed in between)
            self._later.add(self._clock.monotonic() + RETRY_SECONDS, RELEASES, item.key, since=since)
            return []
        self._orphaning[item.key] = since
        return _remove_references(item, readable)

    async def _strip_cluster_scoped(self, item: Item, since: int) -> list[Action]:
        """Removes references to the owner from cluster-scoped objects, as Kubernetes does, although the owner could not own them.

        This is done once, for at most one turn of them. The owner is released whether or not it succeeds, so they cannot hold it.
        """
        if self._stripped.pop(item.key, "") == item.meta.uid:
            return []
        page = await self._backend.first_cluster_scoped_dependents(item, limit=time_slices.slice_size(TURN))
        readable = existing(await self._backend.get_items(page.keys)) if page.keys else []
        if readable:
            self._stripped[item.key] = item.meta.uid
            self._orphaning[item.key] = since
        return _remove_references(item, readable)


def _remove_references(owner: Item, dependents: list[Item]) -> list[Action]:
    because = f"owner {owner.meta.name} ({owner.meta.uid}) orphans its dependents"
    uids = frozenset({owner.meta.uid})
    return [RemoveOwnerReferences(dependent, uids, because, (owner,)) for dependent in dependents]


def _removes(action: Action) -> bool:
    """Whether the action removes the object, if nothing has changed."""
    if isinstance(action, Delete):
        return action.policy is PropagationPolicy.BACKGROUND and not action.item.meta.finalizers
    return isinstance(action, RemoveFinalizer)
