"""The objects, their owners and the owners' states, derived from the commits alone and by none of Probate's own code."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from simulation import tenants
from simulation.history import Change, Reference, Version
from simulation.kinds import KINDS


class OwnerState(Enum):
    """The state of an owner, as seen from an object that refers to it. The values are used in messages."""

    SOLID = "living"
    WAITING = "waiting for its dependents to go"
    DEAD = "gone"
    PRESUMED_DEAD = "gone, but not from where it is said to be"
    UNKNOWN = "of a kind that is not known"
    OUT_OF_REACH = "in a namespace, and so out of reach"


class ObjectGraph:
    """The objects at the revision of the last change that was applied."""

    def __init__(self) -> None:
        self.objects: dict[str, Version] = {}
        self.by_uid: dict[str, str] = {}  # the keys of existing objects
        self.gone: set[str] = set()  # uids of objects that were removed
        self.defined: set[str] = set()  # keys of all CRDs that ever existed
        self.has_settled: set[str] = set()  # uids of objects that were ever waiting or orphaning
        self.late: set[tuple[str, str]] = set()  # uids of dependents that were added to a waiting owner, and the owner's uid
        self._kinds = {(one.api_version, one.kind): one for one in (*KINDS, *tenants.KINDS, tenants.BINDING)}
        self._dependents: dict[str, dict[str, None]] = {}

    def apply(self, change: Change) -> None:
        if change.before is not None:
            del self.objects[change.key]
            for owner in change.before.metadata.owner_references:
                self._dependents[owner.uid].pop(change.key, None)
        if change.after is None:
            if change.before is not None:
                self.by_uid.pop(change.before.metadata.uid)
                self.gone.add(change.before.metadata.uid)
            return
        meta = change.after.metadata
        if change.key.startswith("objects/customresourcedefinitions"):
            self.defined.add(change.key)
        self.objects[change.key] = change.after
        self.by_uid[meta.uid] = change.key
        if change.after.is_waiting or change.after.is_orphaning:
            self.has_settled.add(meta.uid)
        self._note_late(change.before, change.after)
        if not change.key.startswith("objects/events/"):
            for owner in meta.owner_references:
                self._dependents.setdefault(owner.uid, {})[change.key] = None

    def _note_late(self, before: Version | None, after: Version) -> None:
        known = {one.uid for one in before.metadata.owner_references} if before is not None else set()
        new = [
            owner
            for owner, owner_state in self.owner_states(after).items()
            if owner_state is OwnerState.WAITING and owner.uid not in known
        ]
        self.late.update((after.metadata.uid, owner.uid) for owner in new)

    def dependents(self, owner: Version) -> Iterator[tuple[str, Version]]:
        """Yields the dependents of the owner: those in its namespace, or everywhere if it is cluster-scoped."""
        for key in self._dependents.get(owner.metadata.uid, ()):
            if reaches(self.objects[key], owner):
                yield key, self.objects[key]

    def owners(self, dependent: Version) -> list[str]:
        """Returns the keys of the existing owners that the object refers to by uid and that can own it."""
        uids = dict.fromkeys(one.uid for one in dependent.metadata.owner_references)
        keys = [self.by_uid[uid] for uid in uids if uid in self.by_uid]
        return [key for key in keys if reaches(dependent, self.objects[key])]

    def owner_state(self, dependent: Version, owner: Reference) -> OwnerState:
        """Returns the state of the owner, as seen from the dependent."""
        kind = self._kinds.get((owner.api_version, owner.kind))
        is_unknown = kind is None or (kind.definition and kind.definition not in self.objects)
        if kind is None or is_unknown or (kind.is_namespaced and not dependent.metadata.namespace):
            was_known = kind is not None and kind.definition in self.defined
            if owner.uid in self.gone or (was_known and owner.uid not in self.by_uid):
                return OwnerState.PRESUMED_DEAD
            return OwnerState.UNKNOWN if is_unknown else OwnerState.OUT_OF_REACH
        namespace = dependent.metadata.namespace if kind.is_namespaced else "-"
        found = self.objects.get(f"objects/{kind.resource}/{namespace}/{owner.name}")
        if found is None or found.metadata.uid != owner.uid:
            return OwnerState.DEAD
        return OwnerState.WAITING if found.is_waiting else OwnerState.SOLID

    def owner_states(self, dependent: Version) -> dict[Reference, OwnerState]:
        return {owner: self.owner_state(dependent, owner) for owner in dependent.metadata.owner_references}

    def blocked_by(self, dependent: Version) -> list[str]:
        """Returns the keys of the waiting owners that the dependent blocks. A reference blocks by its uid alone."""
        uids = dict.fromkeys(one.uid for one in dependent.metadata.owner_references if one.block_owner_deletion)
        keys = [self.by_uid[uid] for uid in uids if uid in self.by_uid]
        return [key for key in keys if self.objects[key].is_waiting and reaches(dependent, self.objects[key])]

    def cycle_of(self, key: str) -> set[str]:
        """Returns the waiting objects on a cycle with this one; empty if it is not on a cycle."""
        above = self._above(key)
        return {one for one in above if one == key or key in self._above(one)} if key in above else set()

    def _above(self, key: str) -> set[str]:
        """Returns the waiting objects that wait for this one, directly or indirectly."""
        found: set[str] = set()
        todo = [key]
        while todo:
            one = self.objects[todo.pop()]
            fresh = [owner for owner in self.blocked_by(one) if owner not in found] if one.is_waiting else []
            found.update(fresh)
            todo += fresh
        return found


def reaches(dependent: Version, owner: Version) -> bool:
    """Whether the owner can own the dependent: it is in the same namespace, or cluster-scoped."""
    return owner.metadata.namespace in ("", dependent.metadata.namespace)
