"""What the collector has still to look at, and why: the changes it has seen, turned into work, each thing once.

    an object was removed                     look at all that refer to it, and at the owners it blocked
    an object has new owners                  look, a moment later, whether all of them are there
    an object began to wait (foreground)      look at all that refer to it, and whether it can leave
    an object began to orphan                 take the references to it off, and let it leave
    an object is marked, and nothing holds it look, a moment later, whether it is still there
    a reference blocks no more                look at its owner
    a blocking object has lost an owner       look at the others: it may be free to go, and they with it
    a custom kind came or went                look at all that refer to owners of that kind

Each piece of work remembers the revision of the change it comes from. What is older than the oldest piece is dealt with for good.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from probate.api.ownership import Change, Item, Owner
from probate.core.generational_cache import Recent

GONE = 10_000
CHILDLESS = 10_000
_DEFINITIONS = "objects/customresourcedefinitions.apiextensions.k8s.io/"
_NAMESPACES = "objects/namespaces/"
"""These are held by more than their metadata say."""


Work: TypeAlias = dict[str, int]
"""Where something is to be looked at, and since which revision."""


class Expansion(msgspec.Struct, frozen=True, gc=False):
    """An owner whose dependents are to be looked at, and how far that got."""

    owner: Item
    since: int
    more: str = ""
    is_for_blockers: bool = False  # only those dependents that block it


class Pending:
    """Work, by kind. Everything is a dict in the order of arrival: what comes twice is done once."""

    def __init__(self) -> None:
        self.seen = 0  # all changes up to this revision have become work
        self.examine: Work = {}  # by where it is
        self.born: Work = {}  # with owners that may not be there
        self.settle: Work = {}  # objects that wait for blockers, or for references, to vanish
        self.expand: dict[str, Expansion] = {}  # by the owner's uid
        self.owners: dict[tuple[str, str], tuple[Item, Owner, int]] = {}  # that may be free now, by namespace and uid: who says so
        self.kinds: Work = {}  # definitions that changed, by where
        self.stuck: Work = {}  # objects that wait, and could be in a circle
        self.gone: Recent[str] = Recent(GONE)  # objects that were seen to go: where each was, by uid
        self.childless: Recent[bool] = Recent(CHILDLESS)  # uids that nothing refers to, as far as all changes noted so far say
        self.waiting: dict[str, Item] = {}  # objects that wait for those that block them, as last seen, by where
        self._waiting_by_uid: dict[str, Item] = {}  # the same ones
        self.combed: set[str] = set()  # uids of owners that wait, whose dependents were all looked at
        self.late: dict[str, dict[str, None]] = {}  # by the uid of an owner that waits: dependents that came after that
        self.held: dict[str, int] = {}  # by the uid of an owner that waits: up to when it is known to have been held by some

    def __bool__(self) -> bool:
        return bool(self.examine or self.born or self.settle or self.expand or self.owners or self.kinds)

    def __len__(self) -> int:
        return sum(len(one) for one in (self.examine, self.born, self.settle, self.expand.keys(), self.owners.keys(), self.kinds))

    def oldest(self) -> int | None:
        """The revision of the oldest change that is not dealt with yet."""
        pieces = itertools.chain(
            self.examine.values(),
            self.born.values(),
            self.settle.values(),
            self.kinds.values(),
            self.stuck.values(),
            (one.since for one in self.expand.values()),
            (since for _, _, since in self.owners.values()),
        )
        return min(pieces, default=None)

    def note(self, change: Change) -> str:
        """Turn a change into work. Returns where the object is if it has new owners, or should be gone: look there in a moment."""
        item = change.after or change.before
        if item is None:
            return ""
        if item.where.startswith(_DEFINITIONS):
            self.kinds[item.where] = change.revision
        if change.after is not None:
            return self._note_present(change.after, change.before, change.revision)
        self._note_removed(item, change.revision)
        return ""

    def saw_go(self, owner: Owner, namespace: str) -> bool:
        """Whether just this owner, of an object in this namespace, was seen to go: its group and name count, not its uid alone."""
        where = self.gone.get(owner.uid)
        if where is None:
            return False
        _, resource, place, name = where.split("/")
        group = owner.api_version.rpartition("/")[0]
        return (resource.partition(".")[2], name) == (group, owner.name) and place in {"-", namespace}

    def comb(self, owner: Item, since: int, *, is_for_blockers: bool = False) -> None:
        """Look at all dependents of the owner, from the beginning."""
        self.expand[owner.meta.uid] = Expansion(owner, since, is_for_blockers=is_for_blockers)
        if owner.is_waiting:
            self.combed.add(owner.meta.uid)

    def come_late(self, owner: Item, where: str, since: int) -> None:
        """A dependent came to an owner that waits. It has time until the owner cannot leave: none, if it may be why.

        An owner that began to wait before all that is known here may have been held already: it is looked at again.
        """
        uid = owner.meta.uid
        if uid not in self.combed:
            self.settle.setdefault(owner.where, since)
        if since <= self.held.get(uid, 0):
            self.examine.setdefault(where, since)
        else:
            self.late.setdefault(uid, {})[where] = None

    def look_for_late(self, owner: Item, since: int, held: int) -> None:
        """The owner still cannot leave: look at those dependents that nobody has looked at since it waits.

        One that came before `held` may have kept it, and may not have been heard of yet.
        """
        uid = owner.meta.uid
        self.held[uid] = held
        if uid not in self.combed:
            self.comb(owner, since, is_for_blockers=True)
        for where in self.late.pop(uid, ()):
            self.examine.setdefault(where, since)

    def doubt(self, wheres: Iterable[str]) -> None:
        """These are not as they were last seen: they have to be read again."""
        for where in wheres:
            self._wait_no_more(where)

    def waiting_for(self, item: Item) -> list[Item]:
        """The owners that wait for this item to go, as last seen."""
        if not self._waiting_by_uid:
            return []
        blocked = [self._waiting_by_uid.get(owner.uid) for owner in item.meta.owner_references if owner.block_owner_deletion]
        return [owner for owner in blocked if owner is not None and owner.meta.namespace in {"", item.meta.namespace}]

    def _wait(self, item: Item) -> None:
        self.waiting[item.where] = self._waiting_by_uid[item.meta.uid] = item

    def _wait_no_more(self, where: str) -> None:
        item = self.waiting.pop(where, None)
        if item is not None:
            self._waiting_by_uid.pop(item.meta.uid, None)

    def _note_removed(self, item: Item, revision: int) -> None:
        uid = item.meta.uid
        if self.waiting:
            self._wait_no_more(item.where)
        if self.combed or self.late or self.held:
            self.combed.discard(uid)
            self.late.pop(uid, None)
            self.held.pop(uid, None)
        self.gone[uid] = item.where
        if self.childless.pop(uid) is None:
            self.expand[uid] = Expansion(item, revision)
        if item.meta.owner_references:
            self._free(item, item.meta.owner_references, revision)

    def _note_present(self, item: Item, before: Item | None, revision: int) -> str:
        owners = item.meta.owner_references
        if before is not None and before.meta.owner_references != owners:
            self._free(before, self._freed(item, before), revision)
        if item.is_deleting:
            self._note_deleting(item, before, revision)
        has_new_owners = owners and (before is None or before.meta.owner_references != owners)
        if has_new_owners:
            for owner in owners:
                self.childless.pop(owner.uid)
        if item.is_deleting:
            return item.where if item.is_left_over and not item.where.startswith(_NAMESPACES) else ""
        return item.where if has_new_owners else ""

    def _note_deleting(self, item: Item, before: Item | None, revision: int) -> None:
        is_waiting = item.is_waiting
        if is_waiting:
            self._wait(item)
        else:
            self._wait_no_more(item.where)
        if is_waiting or item.is_orphaning:
            self.settle.setdefault(item.where, revision)
        if is_waiting and (before is None or not before.is_waiting):
            self.comb(item, revision)

    def _freed(self, item: Item, before: Item) -> list[Owner]:
        """The owners that may be free now that the item refers to others: it blocks them no more, or can go itself.

        An item that blocks an owner because nobody knows another owner of it can go once it refers to that other one no more.
        """
        owners, old = item.meta.owner_references, before.meta.owner_references
        blocked = {owner.uid for owner in owners if owner.block_owner_deletion}
        may_go = not item.is_deleting and any(owner not in owners for owner in old)
        return [owner for owner in old if owner.uid not in blocked or (may_go and item.where not in self.late.get(owner.uid, ()))]

    def _free(self, item: Item, owners: Iterable[Owner], revision: int) -> None:
        for owner in owners:
            if owner.block_owner_deletion:
                self.owners.setdefault((item.meta.namespace, owner.uid), (item, owner, revision))


class Appointments:
    """Work that has its time."""

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, str, int]] = []
        self._ids = itertools.count()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, when: float, kind: str, where: str, since: int) -> None:
        """`kind` and `where` come up at `when`."""
        heapq.heappush(self._queue, (when, next(self._ids), f"{kind} {where}", since))

    @property
    def next(self) -> float | None:
        return self._queue[0][0] if self._queue else None

    def due(self, now: float) -> list[tuple[str, str, int]]:
        """Those whose time has come: of which kind, where, and since which revision."""
        found = []
        while self._queue and self._queue[0][0] <= now:
            _, _, what, since = heapq.heappop(self._queue)
            kind, _, where = what.partition(" ")
            found.append((kind, where, since))
        return found

    def oldest(self) -> int | None:
        return min((since for _, _, _, since in self._queue), default=None)
