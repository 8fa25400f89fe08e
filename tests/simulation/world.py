"""What is there, who owns whom and how owners stand: from the committed changes alone, and by none of Probate's own code."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from simulation.history import Change, Reference, Version
from simulation.kinds import KINDS


class Standing(Enum):
    """How an owner stands, seen from one who refers to it."""

    SOLID = "living"
    WAITING = "waiting for its dependents to go"
    DEAD = "gone"
    PRESUMED_DEAD = "gone, but not from where it is said to be"
    UNKNOWN = "of a kind that is not known"
    OUT_OF_REACH = "in a namespace, and so out of reach"


class World:
    """The objects at one revision, the last one that was applied."""

    def __init__(self) -> None:
        self.objects: dict[str, Version] = {}
        self.by_uid: dict[str, str] = {}  # the keys of living objects
        self.gone: set[str] = set()  # uids of objects that were removed
        self.defined: set[str] = set()  # keys of all definitions that there ever were
        self.has_settled: set[str] = set()  # uids of objects that ever waited for dependents, or orphaned them
        self.late: set[tuple[str, str]] = set()  # uids of dependents that came to an owner when it waited already, and the owner's
        self._kinds = {(one.api_version, one.kind): one for one in KINDS}
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
            owner for owner, standing in self.standings(after).items() if standing is Standing.WAITING and owner.uid not in known
        ]
        self.late.update((after.metadata.uid, owner.uid) for owner in new)

    def dependents(self, owner: Version) -> Iterator[tuple[str, Version]]:
        """Those that refer to the owner and can: from its namespace, or from anywhere if it has none."""
        for key in self._dependents.get(owner.metadata.uid, ()):
            if reaches(self.objects[key], owner):
                yield key, self.objects[key]

    def owners(self, dependent: Version) -> list[str]:
        """The keys of those that are there and that the object refers to by their uid, and can."""
        uids = dict.fromkeys(one.uid for one in dependent.metadata.owner_references)
        keys = [self.by_uid[uid] for uid in uids if uid in self.by_uid]
        return [key for key in keys if reaches(dependent, self.objects[key])]

    def standing(self, dependent: Version, owner: Reference) -> Standing:
        """How the owner stands, seen from the dependent."""
        kind = self._kinds.get((owner.api_version, owner.kind))
        is_unknown = kind is None or (kind.definition and kind.definition not in self.objects)
        if kind is None or is_unknown or (kind.is_namespaced and not dependent.metadata.namespace):
            was_known = kind is not None and kind.definition in self.defined
            if owner.uid in self.gone or (was_known and owner.uid not in self.by_uid):
                return Standing.PRESUMED_DEAD
            return Standing.UNKNOWN if is_unknown else Standing.OUT_OF_REACH
        namespace = dependent.metadata.namespace if kind.is_namespaced else "-"
        found = self.objects.get(f"objects/{kind.resource}/{namespace}/{owner.name}")
        if found is None or found.metadata.uid != owner.uid:
            return Standing.DEAD
        return Standing.WAITING if found.is_waiting else Standing.SOLID

    def standings(self, dependent: Version) -> dict[Reference, Standing]:
        return {owner: self.standing(dependent, owner) for owner in dependent.metadata.owner_references}

    def blocked_by(self, dependent: Version) -> list[str]:
        """The keys of the waiting owners that the dependent blocks. A reference blocks by the uid, whatever else it says."""
        uids = dict.fromkeys(one.uid for one in dependent.metadata.owner_references if one.block_owner_deletion)
        keys = [self.by_uid[uid] for uid in uids if uid in self.by_uid]
        return [key for key in keys if self.objects[key].is_waiting and reaches(dependent, self.objects[key])]

    def circle_of(self, key: str) -> set[str]:
        """All waiting objects that wait for this one and that it waits for; only itself if it blocks itself; else nobody."""
        above = self._above(key)
        return {one for one in above if one == key or key in self._above(one)} if key in above else set()

    def _above(self, key: str) -> set[str]:
        """Everything waiting that waits for this one, directly or not."""
        found: set[str] = set()
        todo = [key]
        while todo:
            one = self.objects[todo.pop()]
            fresh = [owner for owner in self.blocked_by(one) if owner not in found] if one.is_waiting else []
            found.update(fresh)
            todo += fresh
        return found


def reaches(dependent: Version, owner: Version) -> bool:
    """Whether a reference counts from where the dependent is: the owner is in its namespace, or in none."""
    return owner.metadata.namespace in ("", dependent.metadata.namespace)
