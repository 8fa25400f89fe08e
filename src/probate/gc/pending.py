"""What the collector has still to look at, and why: the changes it has seen, turned into work, each thing once.

    an object was removed                     look at all that refer to it, and at the owners it blocked
    an object has new owners                  look at it
    an object began to wait (foreground)      look at all that refer to it, and whether it can leave
    an object began to orphan                 take the references to it off, and let it leave
    a reference blocks no more                look at its owner
    a custom kind came or went                look at all that refer to owners of that kind

Each piece of work remembers the revision of the change it comes from. What is older than the oldest piece is dealt with for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.machinery.ownership import Change, Item, Owner

MAX_GONE = 100_000
_DEFINITIONS = "objects/customresourcedefinitions.apiextensions.k8s.io/"


class Expansion(NamedTuple):
    """An owner whose dependents are to be looked at, and how far that got."""

    owner: Item
    more: str
    since: int


class Pending:
    """Work, by kind. Everything is a dict in the order of arrival: what comes twice is done once."""

    def __init__(self) -> None:
        self.examine: dict[str, int] = {}  # by where it is
        self.settle: dict[str, int] = {}  # objects that wait for blockers, or for references, to vanish
        self.expand: dict[str, Expansion] = {}  # by the owner's uid
        self.owners: dict[str, tuple[Item, Owner, int]] = {}  # owners that may be free now, by uid
        self.kinds: dict[str, int] = {}  # definitions that changed, by where
        self.stuck: dict[str, int] = {}  # objects that wait, and could be in a circle
        self.gone: dict[str, None] = {}  # uids of objects that were seen to go

    def __bool__(self) -> bool:
        return bool(self.examine or self.settle or self.expand or self.owners or self.kinds)

    def __len__(self) -> int:
        return len(self.examine) + len(self.settle) + len(self.expand) + len(self.owners) + len(self.kinds)

    def oldest(self) -> int | None:
        """The revision of the oldest change that is not dealt with yet."""
        pieces = (
            *self.examine.values(),
            *self.settle.values(),
            *self.kinds.values(),
            *self.stuck.values(),
            *(one.since for one in self.expand.values()),
            *(since for _, _, since in self.owners.values()),
        )
        return min(pieces, default=None)

    def note(self, change: Change) -> None:
        """Turn a change into work."""
        item = change.after or change.before
        if item is not None and item.where.startswith(_DEFINITIONS):
            self.kinds[item.where] = change.revision
        if change.after is None:
            if change.before is not None:
                self._note_removed(change.before, change.revision)
        else:
            self._note_present(change.after, change.before, change.revision)

    def add_expansion(self, owner: Item, since: int, more: str = "") -> None:
        self.expand[owner.meta.uid] = Expansion(owner, more, since)

    def _note_removed(self, item: Item, revision: int) -> None:
        self.gone[item.meta.uid] = None
        while len(self.gone) > MAX_GONE:
            del self.gone[next(iter(self.gone))]
        self.add_expansion(item, revision)
        self._free(item, item.meta.owner_references, revision)

    def _note_present(self, item: Item, before: Item | None, revision: int) -> None:
        owners = item.meta.owner_references
        if owners and (before is None or before.meta.owner_references != owners) and not item.is_deleting:
            self.examine.setdefault(item.where, revision)
        if before is not None and before.meta.owner_references != owners:
            blocked = {owner.uid for owner in owners if owner.block_owner_deletion}
            self._free(before, (owner for owner in before.meta.owner_references if owner.uid not in blocked), revision)
        if item.is_waiting or item.is_orphaning:
            self.settle.setdefault(item.where, revision)
        if item.is_waiting and (before is None or not before.is_waiting):
            self.add_expansion(item, revision)

    def _free(self, item: Item, owners: Iterable[Owner], revision: int) -> None:
        for owner in owners:
            if owner.block_owner_deletion:
                self.owners.setdefault(owner.uid, (item, owner, revision))
