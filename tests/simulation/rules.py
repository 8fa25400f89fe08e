"""What must hold of every committed change, judged from what was there before it and from who made it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from simulation.history import COLLECTORS, FOREGROUND, Change, Version
from simulation.world import Standing, World, reaches

COLLECTOR = "collector"
SWEEPERS = ("namespaces", "definitions")
_NAMESPACES = "objects/namespaces/-/"
_DEFINITIONS = "objects/customresourcedefinitions.apiextensions.k8s.io/-/"


class Rules:
    """The rules of one world."""

    def __init__(self, world: World, damaged: Collection[str]) -> None:
        self._world = world
        self._damaged = damaged

    def broken_by(self, change: Change, actor: str) -> Iterator[str]:
        """The rules that the change breaks, in words."""
        if change.before is None:
            yield from self._created(change)
            return
        if change.after is None:
            yield from self._emptied(change, change.before)
        if actor == COLLECTOR:
            yield from self._collected(change, change.before)
        elif actor in SWEEPERS:
            yield from self._swept(change, change.before)

    def _created(self, change: Change) -> Iterator[str]:
        for scope, found in self._scopes(change.key):
            if found is None or found.is_deleting:
                state = "which is not there" if found is None else "which is being deleted"
                yield f"{change.key} was created in a closed scope: {scope}, {state}"

    def _scopes(self, key: str) -> list[tuple[str, Version | None]]:
        """What an object lies in: its namespace, and the definition of its kind."""
        _, resource, namespace, _ = key.split("/", 3)
        scopes = [] if namespace == "-" else [_NAMESPACES + namespace]
        if resource.endswith(".example.com"):
            scopes.append(_DEFINITIONS + resource)
        return [(scope, self._world.objects.get(scope)) for scope in scopes]

    def _swept(self, change: Change, before: Version) -> Iterator[str]:
        """Whoever empties scopes deletes only what lies in one that is being deleted."""
        if before.is_deleting or (change.after is not None and not change.after.is_deleting):
            return
        if not any(found is not None and found.is_deleting for _, found in self._scopes(change.key)):
            yield f"{change.key} was swept away although nothing that it lies in is being deleted"

    def _emptied(self, change: Change, before: Version) -> Iterator[str]:
        """A scope leaves only if nothing is in it."""
        name = before.metadata.name
        if change.key.startswith(_NAMESPACES):
            left = [key for key in self._world.objects if key.split("/")[2] == name]
        elif change.key.startswith(_DEFINITIONS):
            left = [key for key in self._world.objects if key.startswith(f"objects/{name}/")]
        else:
            return
        if left:
            yield f"{change.key} left although it was not empty: {left}"

    def _collected(self, change: Change, before: Version) -> Iterator[str]:
        after = change.after
        if not before.is_deleting and (after is None or after.is_deleting):
            yield from self._deleted(change, before)
        if after is None and not COLLECTORS.issuperset(before.metadata.finalizers):
            yield f"{change.key} was removed by the collector although finalizers held it: {before.metadata.finalizers}"
        if before.is_deleting:
            yield from self._released(change, before)
        if after is not None:
            yield from self._dropped(change.key, before, after)
            yield from self._stripped(change.key, before, after)
            yield from self._unblocked(change.key, before, after)

    def _deleted(self, change: Change, before: Version) -> Iterator[str]:
        """The collector deletes only what has no owner left that could be alive."""
        standings = self._world.standings(before)
        if not standings:
            yield f"{change.key} was collected although it has no owner"
        for owner, standing in standings.items():
            if standing not in (Standing.DEAD, Standing.PRESUMED_DEAD, Standing.WAITING):
                state = "damaged" if self._world.by_uid.get(owner.uid) in self._damaged else standing.value
                yield f"{change.key} was collected although its owner {owner.kind} {owner.name} ({owner.uid}) is {state}"

    def _released(self, change: Change, before: Version) -> Iterator[str]:
        """An owner leaves after those who block it; an orphaning one after all references to it."""
        kept = () if change.after is None else change.after.metadata.finalizers
        uid = before.metadata.uid
        if before.is_orphaning:
            if "orphan" not in kept:
                for key, _ in self._world.dependents(before):
                    yield f"{change.key} was to leave its dependents behind, but was released while {key} still refers to it"
        elif before.is_waiting and FOREGROUND.isdisjoint(kept):
            for key, dependent in self._world.dependents(before):
                if dependent.blocks(uid):
                    yield f"{change.key} left before {key}, which blocks it"

    def _dropped(self, key: str, before: Version, after: Version) -> Iterator[str]:
        """The collector takes off references to the dead, the waiting and the orphaning, or those that were so a moment ago."""
        standings = self._world.standings(before)
        for owner, standing in standings.items():
            if after.refers_to(owner.uid) or standing is not Standing.SOLID:
                continue
            is_doubtful = any(one.uid == owner.uid and standings[one] is not Standing.SOLID for one in standings)
            if owner.uid not in self._world.has_settled and not is_doubtful:
                yield f"{key} lost its reference to {self._world.by_uid[owner.uid]}, which is alive"

    def _stripped(self, key: str, before: Version, after: Version) -> Iterator[str]:
        """An owner that orphans takes no reference off an object of another namespace. (A living owner of that object may.)"""
        if Standing.SOLID in self._world.standings(before).values() or not before.metadata.namespace:
            return
        for uid in dict.fromkeys(owner.uid for owner in before.metadata.owner_references):
            owner = self._world.objects.get(self._world.by_uid.get(uid, ""))
            if owner is not None and not after.refers_to(uid) and not reaches(before, owner):
                yield f"{key} lost its reference to {self._world.by_uid[uid]}, which cannot own it"

    def _unblocked(self, key: str, before: Version, after: Version) -> Iterator[str]:
        """Only references within a circle are made to block no more."""
        for uid in dict.fromkeys(owner.uid for owner in before.metadata.owner_references):
            if not before.blocks(uid) or after.blocks(uid) or not after.refers_to(uid):
                continue
            circle = {self._world.objects[one].metadata.uid for one in self._world.circle_of(key)}
            if not {before.metadata.uid, uid} <= circle:
                yield f"{key} does not block {uid} any more although the two do not wait for each other"
