"""The rules that every committed change must obey, given the state before it and its actor."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from probate.controllers import registry
from simulation.history import COLLECTORS, FOREGROUND, Change, Version
from simulation.object_graph import ObjectGraph, OwnerState, reaches
from simulation.tenants import TenantRules

COLLECTOR = registry.COLLECTOR
SCOPE_CONTROLLERS = (registry.NAMESPACES, registry.CUSTOM_RESOURCE_DEFINITIONS)
_NAMESPACES = "objects/namespaces/-/"
_DEFINITIONS = "objects/customresourcedefinitions.apiextensions.k8s.io/-/"


class Rules:
    """The rules of one run."""

    def __init__(self, world: ObjectGraph, damaged: Collection[str]) -> None:
        self._world = world
        self._damaged = damaged
        self._tenants = TenantRules(world.objects)

    def broken_by(self, change: Change, actor: str) -> Iterator[str]:
        """Describes the rules that the change breaks."""
        yield from self._tenants.broken_by(change, actor)
        if change.before is None:
            yield from self._created(change)
            return
        if change.after is None:
            yield from self._emptied(change, change.before)
        if actor == COLLECTOR:
            yield from self._collected(change, change.before)
        elif actor in SCOPE_CONTROLLERS:
            yield from self._swept(change, change.before)

    def _created(self, change: Change) -> Iterator[str]:
        for scope, found in self._scopes(change.key):
            if found is None or found.is_deleting:
                state = "which is not there" if found is None else "which is being deleted"
                yield f"{change.key} was created in a closed scope: {scope}, {state}"

    def _scopes(self, key: str) -> list[tuple[str, Version | None]]:
        """Returns the scopes of an object: its namespace, and the CRD of its kind."""
        _, resource, namespace, _ = key.split("/", 3)
        scopes = [] if namespace == "-" else [_NAMESPACES + namespace]
        if resource.endswith(".example.com"):
            scopes.append(_DEFINITIONS + resource)
        return [(scope, self._world.objects.get(scope)) for scope in scopes]

    def _swept(self, change: Change, before: Version) -> Iterator[str]:
        """The controllers of scopes delete only objects in a scope that is being deleted."""
        if before.is_deleting or (change.after is not None and not change.after.is_deleting):
            return
        if not any(found is not None and found.is_deleting for _, found in self._scopes(change.key)):
            yield f"{change.key} was swept away although nothing that it lies in is being deleted"

    def _emptied(self, change: Change, before: Version) -> Iterator[str]:
        """A scope is removed only if it is empty."""
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
        """The collector deletes only objects without an owner that could be solid."""
        owner_states = self._world.owner_states(before)
        if not owner_states:
            yield f"{change.key} was collected although it has no owner"
        for owner, owner_state in owner_states.items():
            if owner_state not in (OwnerState.DEAD, OwnerState.PRESUMED_DEAD, OwnerState.WAITING):
                state = "damaged" if self._world.by_uid.get(owner.uid) in self._damaged else owner_state.value
                yield f"{change.key} was collected although its owner {owner.kind} {owner.name} ({owner.uid}) is {state}"

    def _released(self, change: Change, before: Version) -> Iterator[str]:
        """An owner is removed after the dependents that block it; an orphaning one after all references to it."""
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
        """The collector removes references to owners that are, or just were, dangling, waiting or orphaning."""
        owner_states = self._world.owner_states(before)
        for owner, owner_state in owner_states.items():
            if after.refers_to(owner.uid) or owner_state is not OwnerState.SOLID:
                continue
            is_doubtful = any(one.uid == owner.uid and owner_states[one] is not OwnerState.SOLID for one in owner_states)
            if owner.uid not in self._world.has_settled and not is_doubtful:
                yield f"{key} lost its reference to {self._world.by_uid[owner.uid]}, which is alive"

    def _stripped(self, key: str, before: Version, after: Version) -> Iterator[str]:
        """An orphaning owner removes no reference from an object of another namespace. (A solid owner of that object may.)"""
        if OwnerState.SOLID in self._world.owner_states(before).values() or not before.metadata.namespace:
            return
        for uid in dict.fromkeys(owner.uid for owner in before.metadata.owner_references):
            owner = self._world.objects.get(self._world.by_uid.get(uid, ""))
            if owner is not None and not after.refers_to(uid) and not reaches(before, owner):
                yield f"{key} lost its reference to {self._world.by_uid[uid]}, which cannot own it"

    def _unblocked(self, key: str, before: Version, after: Version) -> Iterator[str]:
        """`blockOwnerDeletion` is cleared only in references within a cycle."""
        for uid in dict.fromkeys(owner.uid for owner in before.metadata.owner_references):
            if not before.blocks(uid) or after.blocks(uid) or not after.refers_to(uid):
                continue
            cycle = {self._world.objects[one].metadata.uid for one in self._world.cycle_of(key)}
            if not {before.metadata.uid, uid} <= cycle:
                yield f"{key} does not block {uid} any more although the two do not wait for each other"
