"""Ownership: the part of an object that deletion and garbage collection read, and the actions of the collector.

An `Item` is an object as it was read: its key (`api.object_keys`), its revision, and its metadata.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, NewType, TypeAlias

import msgspec

from probate.api import deletion
from probate.api.deletion import PropagationPolicy
from probate.api.object_keys import Key

Uid = NewType("Uid", str)


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One entry of `metadata.ownerReferences`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: Uid = Uid("")
    block_owner_deletion: bool | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name} ({self.uid})"


class ObjectMeta(msgspec.Struct, rename="camel", gc=False):
    """The fields of `metadata` that lists, watches and deletions read."""

    name: str = ""
    namespace: str = ""
    uid: Uid = Uid("")
    labels: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    generation: int = 0


class Item(msgspec.Struct, frozen=True, gc=False):
    """An object's ownership metadata, as read at a revision."""

    key: Key
    revision: int
    meta: ObjectMeta
    is_lagging: bool = False  # its controller has not observed the deletion yet: observedGeneration is behind

    @property
    def is_deleting(self) -> bool:
        return self.meta.deletion_timestamp is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it is being deleted in the foreground: it is removed once no dependent blocks it."""
        return self.is_deleting and deletion.is_foreground(self.meta.finalizers)

    @property
    def is_orphaning(self) -> bool:
        """Whether it is being deleted with the `orphan` finalizer: it is removed once no dependent refers to it."""
        return self.is_deleting and deletion.ORPHAN_FINALIZER in self.meta.finalizers

    @property
    def is_removal_due(self) -> bool:
        """Whether no metadata holds it any more: it was marked to be removed right after, and may still exist."""
        return self.is_deleting and not self.meta.finalizers and not self.meta.deletion_grace_period_seconds


class Change(msgspec.Struct, frozen=True, gc=False):
    """One object before and after one change. `before` is None if it was created, `after` if it was removed.

    Both are None for changes that do not concern ownership or deletion: they only say up to which revision the feed has come.
    """

    revision: int
    before: Item | None
    after: Item | None


class ChangedKeys(NamedTuple):
    """The keys of objects of one resource and one namespace that changed. `resource` is plural and group: `deployments.apps`."""

    resource: str
    namespace: str
    keys: list[Key]

    @property
    def names(self) -> list[str]:
        return [key.rpartition("/")[2] for key in self.keys]


class StoredObject(NamedTuple):
    """An item together with the whole object."""

    item: Item
    object: dict[str, Any]


class KeyPage(NamedTuple):
    """One page of keys, and the token that continues the list; empty if this is the last page."""

    keys: list[Key]
    continue_token: str = ""


class OwnerState(Enum):
    """The state of an owner, as seen from an object that refers to it. The values are part of the API (docs/inspection.md)."""

    SOLID = "solid"  # it exists; it stays, or is deleted without waiting for its dependents
    WAITING = "waiting"  # it is being deleted in the foreground: it is removed after its dependents
    DANGLING = "dangling"  # it does not exist
    UNKNOWN = "unknown"  # unresolvable for now: its kind is not served, or its stored data is damaged
    UNRESOLVABLE = "out of reach"  # its kind is namespaced, but the object that refers to it is cluster-scoped


class ResolvedOwner(NamedTuple):
    """The state of an owner, and the owner itself; `item` is None if it was not found."""

    state: OwnerState
    item: Item | None = None


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Deletes the item if it and the items of `preconditions` are unchanged.

    Without a policy, its own finalizers or its kind decide.
    """

    item: Item
    policy: PropagationPolicy | None
    because: str
    preconditions: tuple[Item, ...] = ()


class RemoveOwnerReferences(msgspec.Struct, frozen=True, gc=False):
    """Removes the references to these owners from the item, if it and the items of `preconditions` are unchanged."""

    item: Item
    uids: frozenset[str]
    because: str
    preconditions: tuple[Item, ...] = ()


class ClearBlockOwnerDeletion(msgspec.Struct, frozen=True, gc=False):
    """Clears `blockOwnerDeletion` in the references to these owners, if the item and those of `preconditions` are unchanged."""

    item: Item
    uids: frozenset[str]
    because: str
    preconditions: tuple[Item, ...] = ()


class RemoveFinalizer(msgspec.Struct, frozen=True, gc=False):
    """Removes the collector's finalizers from a deleting item, if no dependent blocks it (or, if it orphans, refers to it)."""

    item: Item
    because: str


class RemoveFinalizers(msgspec.Struct, frozen=True, gc=False):
    """Removes finalizers of others from a deleting item, if it and the items of `preconditions` are unchanged."""

    item: Item
    names: frozenset[str]
    because: str
    preconditions: tuple[Item, ...] = ()


class UpdateStatus(msgspec.Struct, frozen=True, gc=False):
    """Replaces the item's status."""

    item: Item
    status: dict[str, Any]
    because: str


class Finalize(msgspec.Struct, frozen=True, gc=False):
    """Removes the content finalizer of a deleting namespace, CRD or Tenant without content, and replaces its status."""

    item: Item
    status: dict[str, Any]
    because: str


Action: TypeAlias = (
    Delete | RemoveOwnerReferences | ClearBlockOwnerDeletion | RemoveFinalizer | RemoveFinalizers | UpdateStatus | Finalize
)


class Outcome(Enum):
    """The result of an action."""

    DONE = "done"
    CHANGED = "changed"  # the item or a precondition has changed: decide again
    HELD = "held"  # a dependent blocks it, or content was found: check those again
    FAILED = "failed"  # the store or an admission plugin refused it: retry later
    DENIED = "denied"  # the controller's role does not grant it: retry when permissions have changed
