"""Turns changes into the collector's work: which objects, owners and kinds to check again. Each piece of work is queued once.

    a change                                          the work
    an object was removed                             check its dependents, and try to release the owners that it blocked
    an object has new owner references                check, a moment later, whether all its owners exist
    foreground deletion of an object began            check its dependents, and try to release it
    orphaning deletion of an object began             remove the references to it, and release it
    an object is marked, and nothing holds it         check, a moment later, whether it still exists
    a reference stopped blocking                      try to release its owner
    a blocking object lost an owner                   try to release its other owners: it may be deletable now, and they after it
    a custom kind was created or removed              check all objects that refer to owners of that kind

Each piece of work has the revision of the change that it comes from. All changes before that of the oldest piece are processed.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from probate.api import object_keys
from probate.api.gvk import GroupVersion
from probate.api.object_keys import Key
from probate.api.ownership import Change, Item, OwnerReference, Uid
from probate.core.generational_cache import GenerationalCache

MAX_REMOVED = 10_000
MAX_WITHOUT_DEPENDENTS = 10_000
_CRDS = object_keys.resource_range("customresourcedefinitions.apiextensions.k8s.io")
_NAMESPACES = object_keys.resource_range("namespaces")
"""A namespace is also held by its `spec.finalizers` and its content, not only by its metadata."""

Work: TypeAlias = dict[Key, int]
"""Keys to check, each with the revision that the work comes from."""

OBJECTS, NEW_OBJECTS, RELEASES, CYCLES = "objects", "new-objects", "releases", "cycles"
"""The kinds of work that a `DelayingQueue` can hold back: one for each queue of `WorkQueue.by_kind`."""


class Expansion(msgspec.Struct, frozen=True, gc=False):
    """An owner whose dependents are to be checked, and the page at which that continues."""

    owner: Item
    since: int
    continue_token: str = ""
    only_blocking: bool = False  # only the dependents that block it


class WorkQueue:
    """The work, by kind. Each queue is a dict in the order of arrival, so what arrives twice is done once."""

    def __init__(self) -> None:
        self.revision = 0  # all changes up to this revision have become work
        self.objects: Work = {}  # whose owners are to be resolved
        self.new_objects: Work = {}  # with owners that may not exist
        self.releases: Work = {}  # deleting objects to release: they wait until blocking dependents or references are removed
        self.expansions: dict[Uid, Expansion] = {}  # by the owner's uid
        self.unblocked: dict[tuple[str, str], tuple[Item, OwnerReference, int]] = {}  # owners that a change may have freed
        self.crds: Work = {}  # that changed
        self.cycle_candidates: Work = {}  # objects that wait, and could be part of a cycle
        self.removed: GenerationalCache[str] = GenerationalCache(MAX_REMOVED)  # keys of objects that were removed, by uid
        # uids without dependents, according to all changes noted so far
        self.without_dependents: GenerationalCache[bool] = GenerationalCache(MAX_WITHOUT_DEPENDENTS)
        self.waiting: dict[Key, Item] = {}  # objects in foreground deletion, as last seen, by key
        self._waiting_by_uid: dict[Uid, Item] = {}  # the same
        self.expanded: set[Uid] = set()  # uids of waiting owners whose dependents have all been queued
        self.late_dependents: dict[Uid, dict[Key, None]] = {}  # by the uid of a waiting owner: keys that refer to it since then
        self.held_until: dict[Uid, int] = {}  # by the uid of a waiting owner: the last revision at which dependents blocked it

    def __bool__(self) -> bool:
        return bool(self.objects or self.new_objects or self.releases or self.expansions or self.unblocked or self.crds)

    def __len__(self) -> int:
        works = (self.objects, self.new_objects, self.releases, self.expansions, self.unblocked, self.crds)
        return sum(len(work) for work in works)

    @property
    def by_kind(self) -> dict[str, Work]:
        """The queues that delayed work returns to."""
        return {OBJECTS: self.objects, NEW_OBJECTS: self.new_objects, RELEASES: self.releases, CYCLES: self.cycle_candidates}

    def oldest(self) -> int | None:
        """Returns the revision of the oldest change that is not processed yet."""
        revisions = itertools.chain(
            self.objects.values(),
            self.new_objects.values(),
            self.releases.values(),
            self.crds.values(),
            self.cycle_candidates.values(),
            (expansion.since for expansion in self.expansions.values()),
            (since for _, _, since in self.unblocked.values()),
        )
        return min(revisions, default=None)

    def add_change(self, change: Change) -> str:
        """Turns a change into work. Returns the object's key if it has new owners, or should be gone: check it a moment later."""
        item = change.after or change.before
        if item is None:
            return ""
        if item.key.startswith(_CRDS):
            self.crds[item.key] = change.revision
        if change.after is not None:
            return self._add_present(change.after, change.before, change.revision)
        self._add_removed(item, change.revision)
        return ""

    def was_removed(self, owner: OwnerReference, namespace: str) -> bool:
        """Whether this owner of an object in this namespace was seen to be removed. Its group and name count, not only its uid."""
        key = self.removed.get(owner.uid)
        if key is None:
            return False
        removed = object_keys.parse(key)
        group = GroupVersion.parse(owner.api_version).group
        return (removed.group_resource.group, removed.name) == (group, owner.name) and removed.namespace in {"", namespace}

    def expand(self, owner: Item, since: int, *, only_blocking: bool = False) -> None:
        """Queues all dependents of the owner, from the first page."""
        self.expansions[owner.meta.uid] = Expansion(owner, since, only_blocking=only_blocking)
        if owner.is_waiting:
            self.expanded.add(owner.meta.uid)

    def add_late_dependent(self, owner: Item, key: Key, since: int) -> None:
        """Queues a dependent that was added after foreground deletion of the owner began. It is checked once it may block the
        owner.

        An owner that began to wait before this process watched may be blocked already: it is checked again.
        """
        uid = owner.meta.uid
        if uid not in self.expanded:
            self.releases.setdefault(owner.key, since)
        if since <= self.held_until.get(uid, 0):
            self.objects.setdefault(key, since)
        else:
            self.late_dependents.setdefault(uid, {})[key] = None

    def examine_late_dependents(self, owner: Item, since: int, held: int) -> None:
        """Queues the dependents of a blocked owner that were not checked since it waits.

        A dependent that was added at or before the revision `held` may be what blocks it, and its change may not have arrived yet.
        """
        uid = owner.meta.uid
        self.held_until[uid] = held
        if uid not in self.expanded:
            self.expand(owner, since, only_blocking=True)
        for key in self.late_dependents.pop(uid, ()):
            self.objects.setdefault(key, since)

    def forget_waiting(self, keys: Iterable[Key]) -> None:
        """Drops what is known of these objects, since they have changed: they are read again."""
        for key in keys:
            self._remove_waiting(key)

    def owners_waiting_for(self, item: Item) -> list[Item]:
        """Returns the owners, as last seen, whose foreground deletion this item blocks."""
        if not self._waiting_by_uid:
            return []
        blocked = [self._waiting_by_uid.get(owner.uid) for owner in item.meta.owner_references if owner.block_owner_deletion]
        return [owner for owner in blocked if owner is not None and owner.meta.namespace in {"", item.meta.namespace}]

    def _add_waiting(self, item: Item) -> None:
        self.waiting[item.key] = self._waiting_by_uid[item.meta.uid] = item

    def _remove_waiting(self, key: Key) -> None:
        item = self.waiting.pop(key, None)
        if item is not None:
            self._waiting_by_uid.pop(item.meta.uid, None)

    def _add_removed(self, item: Item, revision: int) -> None:
        uid = item.meta.uid
        if self.waiting:
            self._remove_waiting(item.key)
        if self.expanded or self.late_dependents or self.held_until:
            self.expanded.discard(uid)
            self.late_dependents.pop(uid, None)
            self.held_until.pop(uid, None)
        self.removed[uid] = item.key
        if self.without_dependents.pop(uid) is None:
            self.expansions[uid] = Expansion(item, revision)
        if item.meta.owner_references:
            self._add_unblocked(item, item.meta.owner_references, revision)

    def _add_present(self, item: Item, before: Item | None, revision: int) -> str:
        owners = item.meta.owner_references
        if before is not None and before.meta.owner_references != owners:
            self._add_unblocked(before, self._unblocked_owners(item, before), revision)
        if item.is_deleting:
            self._add_deleting(item, before, revision)
        has_new_owners = owners and (before is None or before.meta.owner_references != owners)
        if has_new_owners:
            for owner in owners:
                self.without_dependents.pop(owner.uid)
        if item.is_deleting:
            return item.key if item.is_removal_due and not item.key.startswith(_NAMESPACES) else ""
        return item.key if has_new_owners else ""

    def _add_deleting(self, item: Item, before: Item | None, revision: int) -> None:
        is_waiting = item.is_waiting
        if is_waiting:
            self._add_waiting(item)
        else:
            self._remove_waiting(item.key)
        if is_waiting or item.is_orphaning:
            self.releases.setdefault(item.key, revision)
        if is_waiting and (before is None or not before.is_waiting):
            self.expand(item, revision)

    def _unblocked_owners(self, item: Item, before: Item) -> list[OwnerReference]:
        """Returns the owners that may be released now that the item has other owner references.

        The item may block them no more. Or it may be deletable itself: an item that blocks an owner only because another owner of
        it is unknown can be deleted once it does not refer to that other owner any more.
        """
        owners, old = item.meta.owner_references, before.meta.owner_references
        blocked = {owner.uid for owner in owners if owner.block_owner_deletion}
        may_go = not item.is_deleting and any(owner not in owners for owner in old)
        return [
            owner
            for owner in old
            if owner.uid not in blocked or (may_go and item.key not in self.late_dependents.get(owner.uid, ()))
        ]

    def _add_unblocked(self, item: Item, owners: Iterable[OwnerReference], revision: int) -> None:
        for owner in owners:
            if owner.block_owner_deletion:
                self.unblocked.setdefault((item.meta.namespace, owner.uid), (item, owner, revision))


class DelayingQueue:
    """Work that is due at a time."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str, int]] = []
        self._ids = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, time: float, kind: str, key: Key, *, since: int) -> None:
        """Adds work of this kind on this key, due at `time`."""
        heapq.heappush(self._heap, (time, next(self._ids), f"{kind} {key}", since))

    @property
    def next_time(self) -> float | None:
        """When the next work is due."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> list[tuple[str, Key, int]]:
        """Removes and returns the work that is due: its kind, its key, and the revision that it comes from."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            _, _, kind_and_key, since = heapq.heappop(self._heap)
            kind, _, key = kind_and_key.partition(" ")
            due.append((kind, Key(key), since))
        return due

    def oldest(self) -> int | None:
        """Returns the revision of the oldest change that work here comes from."""
        return min((since for _, _, _, since in self._heap), default=None)
