"""Who owns whom: the part of an object that deletion and collection look at, and nothing else of it.

An `Item` is an object as it was found: where it lies, at which revision, and its metadata. `where` is a name that whoever found the
item understands (the key in our own store, the path on another cluster; both end in its name); everybody else passes it on.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import msgspec

from probate.api import deletion
from probate.api.deletion import Policy


class Owner(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An owner reference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    block_owner_deletion: bool | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name} ({self.uid})"


class Meta(msgspec.Struct, rename="camel", gc=False):
    """An object's metadata, as far as lists, watches and deletions ask about it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[Owner] = []
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    generation: int = 0


class Item(msgspec.Struct, frozen=True, gc=False):
    """An object as it was found at a revision."""

    where: str
    revision: int
    meta: Meta
    is_lagging: bool = False  # its controller has not seen yet that it is to go

    @property
    def is_deleting(self) -> bool:
        return self.meta.deletion_timestamp is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it goes once no dependent blocks it any more: "deleting in the foreground"."""
        return self.is_deleting and deletion.is_foreground(self.meta.finalizers)

    @property
    def is_orphaning(self) -> bool:
        """Whether it goes once no dependent refers to it any more."""
        return self.is_deleting and deletion.ORPHAN in self.meta.finalizers

    @property
    def is_left_over(self) -> bool:
        """Whether its metadata hold it no more: it was marked to be removed right after, and may still be there."""
        return self.is_deleting and not self.meta.finalizers and not self.meta.deletion_grace_period_seconds


class Change(msgspec.Struct, frozen=True, gc=False):
    """One object before and after one change. `before` is None if it was created, `after` if it was removed.

    Both are None for a change of something that is nobody's concern: so it is known how far the changes have been told.
    """

    revision: int
    before: Item | None
    after: Item | None


class Touch(NamedTuple):
    """Objects of one resource and one namespace that changed: where they are, and nothing else about them.

    `resource` is its plural and group: `deployments.apps`.
    """

    resource: str
    namespace: str
    wheres: list[str]

    @property
    def names(self) -> list[str]:
        return [where.rpartition("/")[2] for where in self.wheres]


class Whole(NamedTuple):
    """An item, and all of its object."""

    item: Item
    object: dict[str, Any]


class Places(NamedTuple):
    """Part of a range: where its objects are, and from where to go on if there are more."""

    wheres: list[str]
    more: str = ""


class Standing(Enum):
    """How an owner stands, seen from one who refers to it."""

    SOLID = "solid"  # it is there, and stays or leaves its dependents alone for now
    WAITING = "waiting"  # it goes as soon as its dependents are gone
    DANGLING = "dangling"  # it is not there
    UNKNOWN = "unknown"  # nobody can say: its kind is not served
    OUT_OF_REACH = "out of reach"  # it would have to be in a namespace, but who refers to it is in none


class Seen(NamedTuple):
    """An owner as it was found; `item` is None if it was not."""

    standing: Standing
    item: Item | None = None


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Delete the item so, if it is unchanged, and so are those who made that right. No policy: as the item and its kind have it."""

    item: Item
    policy: Policy | None
    because: str
    given: tuple[Item, ...] = ()


class Drop(msgspec.Struct, frozen=True, gc=False):
    """Take the references to these owners off the item, if those who made that right are unchanged."""

    item: Item
    uids: frozenset[str]
    because: str
    given: tuple[Item, ...] = ()


class Unblock(msgspec.Struct, frozen=True, gc=False):
    """Let the references to these owners block no more, if those who made that right are unchanged."""

    item: Item
    uids: frozenset[str]
    because: str
    given: tuple[Item, ...] = ()


class Release(msgspec.Struct, frozen=True, gc=False):
    """Take the collector's finalizer off a deleting item, if no dependent blocks it (or, orphaning, refers to it) any more."""

    item: Item
    because: str


class Describe(msgspec.Struct, frozen=True, gc=False):
    """Give the item this status."""

    item: Item
    status: dict[str, Any]
    because: str


class Conclude(msgspec.Struct, frozen=True, gc=False):
    """Take off what keeps a deleting namespace or definition for its content, if it has none any more, and give it this status."""

    item: Item
    status: dict[str, Any]
    because: str


Action: TypeAlias = Delete | Drop | Unblock | Release | Describe | Conclude


class Outcome(Enum):
    """What became of an action."""

    DONE = "done"
    CHANGED = "changed"  # something it was based on had changed: look again
    HELD = "held"  # a dependent, or content, came up in between: look again at those
    FAILED = "failed"  # the store or an admission refused it: try again later
    DENIED = "denied"  # whoever wants it may not do it: try again when rights have changed
