"""An executable model of deletion and garbage collection, as simple as possible, that the server is compared with.

`Objects` are all objects. Requests change them at once. The collector changes them in small steps, each of which the model must
allow at that time (`steps`), and it may be idle only where the model leaves nothing to do (`is_settled`). The model does not order
the steps: `deletion_step_check` compares them with the changes in the store.

The state of an owner decides about its dependents:

    deleting only                         they lose it only once it is removed
    waiting (foreground)                  they are deleted, or lose the reference if another owner is solid; the owner is removed
                                          after those that block it. A dependent that changed its owners since then is left alone,
                                          until it is all that blocks the owner
    orphaning                             they lose the reference, then the owner is removed

A reference is valid if its owner exists, can own the object, and has this name, kind and uid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from support import sample_kinds

ORPHAN = "orphan"
FOREGROUND_FINALIZERS = ("foregroundDeletion", "CollectingGarbage", "GarbageCollectionInProgress")
COLLECTOR_FINALIZERS = (ORPHAN, *FOREGROUND_FINALIZERS)
POD_GRACE = 30

_SHORT = {(kind.version, kind.kind): short for short, kind in sample_kinds.KINDS.items()}


class Ref(NamedTuple):
    version: str
    kind: str
    name: str
    uid: str
    blocks: bool


class ModelObject(NamedTuple):
    """The part of an object that the model needs."""

    short: str
    namespace: str
    name: str
    uid: str
    refs: tuple[Ref, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    grace: int | None = None  # a pod's, while it is deleted
    on_node: bool = False
    late_owners: frozenset[str] = frozenset()  # owners that were already waiting when it got its current owners

    @property
    def location(self) -> tuple[str, str, str]:
        return self.short, self.namespace, self.name

    @property
    def is_waiting(self) -> bool:
        return self.deleting and any(one in FOREGROUND_FINALIZERS for one in self.finalizers)

    @property
    def is_orphaning(self) -> bool:
        return self.deleting and ORPHAN in self.finalizers

    @property
    def is_removable(self) -> bool:
        """Whether nothing holds it any more. A pod is marked first and removed right after: other requests may come in between."""
        return self.deleting and not self.finalizers and not self.grace

    @property
    def visible(self) -> ModelObject:
        """The object without what clients cannot see."""
        return self._replace(late_owners=frozenset())


Objects = Mapping[str, ModelObject]
"""All objects by uid."""


# --- requests -------------------------------------------------------------------------------------------------------


def find(objects: Objects, location: tuple[str, str, str]) -> ModelObject | None:
    return next((one for one in objects.values() if one.location == location), None)


def create(objects: Objects, new: ModelObject) -> Objects:
    return _write(objects, new._replace(late_owners=_waiting_owners(objects, new)))


def update(objects: Objects, object_: ModelObject) -> Objects:
    """Writes the object. Of duplicate references, one is kept."""
    return _write(objects, object_._replace(refs=tuple(dict.fromkeys(object_.refs))))


def update_owners(objects: Objects, object_: ModelObject, refs: tuple[Ref, ...]) -> Objects:
    if refs == object_.refs:
        return objects
    new = object_._replace(refs=refs)
    return _write(objects, new._replace(late_owners=_waiting_owners(objects, new)))


def update_finalizers(objects: Objects, object_: ModelObject, finalizers: tuple[str, ...]) -> Objects | None:
    """Returns None if the request is refused."""
    if object_.deleting and not set(finalizers) <= set(object_.finalizers):
        return None
    if contradict(finalizers):
        return None
    return update(objects, object_._replace(finalizers=finalizers))


def contradict(finalizers: Iterable[str]) -> bool:
    return ORPHAN in finalizers and any(one in FOREGROUND_FINALIZERS for one in finalizers)


def delete(objects: Objects, object_: ModelObject, policy: str | None = None, *, grace: int | None = None) -> Objects:
    """Removes or marks the object. The policy is Orphan, Background, Foreground or None."""
    if object_.short == "pod":
        if object_.grace and (grace is None or grace >= object_.grace):
            return objects  # it terminates at least as soon
        if not object_.deleting:
            grace = (POD_GRACE if grace is None else grace) if object_.on_node else 0
        elif not object_.grace:
            grace = 0
    else:
        grace = 0
    marked = object_._replace(deleting=True, grace=grace, finalizers=_finalizers_of_deleted(object_, policy))
    return (
        {**objects, object_.uid: marked}
        if marked.is_removable and object_.short == "pod" and marked != object_
        else _write(objects, marked)
    )


def _finalizers_of_deleted(object_: ModelObject, policy: str | None) -> tuple[str, ...]:
    there = [one for one in object_.finalizers if one in COLLECTOR_FINALIZERS]
    others = tuple(one for one in object_.finalizers if one not in COLLECTOR_FINALIZERS)
    if policy is None and there:
        policy = "Orphan" if there[0] == ORPHAN else "Foreground"
    elif policy is None and object_.short in {"rc", "job"}:
        policy = "Orphan"
    if policy in {None, "Background"} or object_.short == "event":
        return others
    if policy == "Orphan":
        return object_.finalizers if there == [ORPHAN] else (*others, ORPHAN)
    return object_.finalizers if there and ORPHAN not in there else (*others, FOREGROUND_FINALIZERS[0])


def _write(objects: Objects, object_: ModelObject) -> Objects:
    """Writes the object, or removes it if nothing holds it any more."""
    before = objects.get(object_.uid)
    if object_.is_removable:
        return {uid: one for uid, one in objects.items() if uid != object_.uid}
    if object_.is_waiting and not (before is not None and before.is_waiting):  # all its dependents of now are on time
        objects = {uid: one._replace(late_owners=one.late_owners - {object_.uid}) for uid, one in objects.items()}
        object_ = object_._replace(late_owners=object_.late_owners - {object_.uid})
    return {**objects, object_.uid: object_}


def _waiting_owners(objects: Objects, object_: ModelObject) -> frozenset[str]:
    return frozenset(ref.uid for ref in object_.refs if ref.uid in objects and objects[ref.uid].is_waiting)


# --- the collector ------------------------------------------------------------------------------------------------


class RecentFacts(NamedTuple):
    """Facts that held at some time since the collector was last idle: its decisions may be slightly old when they are executed.

    The policy of a delete depends on whether the object had dependents when it was checked: one that is added later is collected
    later. A cycle that has since become part of a larger one is still broken as the smaller cycle.
    """

    with_dependents: frozenset[str]  # uids of objects that had dependents
    without_dependents: frozenset[str]  # and of those that had none
    cycles: frozenset[frozenset[str]]

    def add(self, objects: Objects) -> RecentFacts:
        with_dependents = frozenset(one.uid for one in objects.values() if has_dependents(objects, one))
        return RecentFacts(
            self.with_dependents | with_dependents,
            self.without_dependents | (objects.keys() - with_dependents),
            self.cycles | {*cycles(objects)},
        )


NEVER = RecentFacts(frozenset(), frozenset(), frozenset())


def steps(objects: Objects, recent: RecentFacts) -> Iterator[Objects]:
    """Yields all states that one step of the collector may lead to."""
    for object_ in objects.values():
        if object_.is_removable:
            yield _write(objects, object_)
        elif object_.is_orphaning:
            yield from _orphan(objects, object_)
        elif object_.is_waiting and not any(_refers(one, object_, blocking=True) for one in objects.values()):
            yield _release(objects, object_)
        else:
            yield from _collect(objects, object_, recent)
    now = cycles(objects)
    for cycle in [one for one in recent.cycles if any(one <= other for other in now)]:
        for uid in cycle:
            yield _break_cycle(objects, objects[uid], cycle)


def is_settled(objects: Objects) -> bool:
    """Whether the collector may be idle."""
    for object_ in objects.values():
        if object_.is_removable or object_.is_orphaning or (_must_be_deleted(objects, object_) and _is_due(objects, object_)):
            return False
        if object_.is_waiting:
            blockers = [one for one in objects.values() if _refers(one, object_, blocking=True)]
            if all(_is_due(objects, one) for one in blockers):  # also without any
                return False
    return not cycles(objects)


def _orphan(objects: Objects, owner: ModelObject) -> Iterator[Objects]:
    dependents = [one for one in objects.values() if _refers(one, owner)]
    cluster_scoped = [one for one in objects.values() if not one.namespace and any(ref.uid == owner.uid for ref in one.refs)]
    for one in {one.uid: one for one in (*dependents, *cluster_scoped)}.values():
        yield update_owners(objects, one, tuple(ref for ref in one.refs if ref.uid != owner.uid))
    if not dependents:
        yield _release(objects, owner)


def _release(objects: Objects, object_: ModelObject) -> Objects:
    return _write(objects, object_._replace(finalizers=tuple(one for one in object_.finalizers if one not in COLLECTOR_FINALIZERS)))


def _is_due(objects: Objects, object_: ModelObject) -> bool:
    """Whether the states of the owners require an action on the object."""
    if object_.deleting or object_.short == "event":
        return False
    states = {_owner_state(objects, object_, ref) for ref in object_.refs}
    return "unknown" not in states and not states <= {"solid"}


def _collect(objects: Objects, object_: ModelObject, recent: RecentFacts) -> Iterator[Objects]:
    """Yields the states after an action on the object."""
    if not _is_due(objects, object_):
        return
    states = [_owner_state(objects, object_, ref) for ref in object_.refs]
    if "solid" in states:
        lost = {ref.uid for ref, state in zip(object_.refs, states, strict=True) if state != "solid"}
        yield _write(objects, object_._replace(refs=tuple(ref for ref in object_.refs if ref.uid not in lost)))
        return
    if "waiting" in states and object_.uid in recent.with_dependents:
        yield delete(objects, object_, "Foreground")
    if "waiting" not in states or object_.uid in recent.without_dependents:
        own = [one for one in object_.finalizers if one in COLLECTOR_FINALIZERS]
        yield delete(objects, object_, None if own else "Background")


def _must_be_deleted(objects: Objects, object_: ModelObject) -> bool:
    states = [(ref, _owner_state(objects, object_, ref)) for ref in object_.refs]
    return any(one == "dangling" or (one == "waiting" and ref.uid not in object_.late_owners) for ref, one in states)


def _owner_state(objects: Objects, object_: ModelObject, ref: Ref) -> str:
    """Returns the state of an owner. `unknown` includes namespaced owners of cluster-scoped objects."""
    short = _SHORT.get((ref.version, ref.kind))
    if short is None:
        return "unknown"
    is_namespaced = sample_kinds.KINDS[short].is_namespaced
    if is_namespaced and not object_.namespace:
        return "unknown"
    owner = objects.get(ref.uid)
    if owner is None or owner.location != (short, object_.namespace if is_namespaced else "", ref.name):
        return "dangling"
    return "waiting" if owner.is_waiting else "solid"


def _refers(object_: ModelObject, owner: ModelObject, *, blocking: bool = False) -> bool:
    """Whether the object is a dependent of the owner: it refers to it, and the owner can own it."""
    if object_.short == "event" or (owner.namespace and object_.namespace != owner.namespace):
        return False
    return any(ref.uid == owner.uid and (ref.blocks or not blocking) for ref in object_.refs)


def has_dependents(objects: Objects, object_: ModelObject) -> bool:
    return any(_refers(one, object_) for one in objects.values())


def cycles(objects: Objects) -> list[frozenset[str]]:
    """Returns the sets of objects that wait for each other, directly or indirectly."""
    waiting = [one for one in objects.values() if one.is_waiting]
    waits_for = {one.uid: {other.uid for other in waiting if _refers(other, one, blocking=True)} for one in waiting}
    reach = {uid: _reachable(waits_for, uid) for uid in waits_for}
    return list({frozenset(other for other in reach[uid] if uid in reach[other]) for uid in reach if uid in reach[uid]})


def _reachable(edges: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = list(edges[start])
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += edges[one]
    return found


def _break_cycle(objects: Objects, object_: ModelObject, cycle: frozenset[str]) -> Objects:
    """Makes one object of a cycle stop blocking the others. They may still form another cycle."""
    refs = tuple(ref._replace(blocks=False) if ref.uid in cycle else ref for ref in object_.refs)
    return _write(objects, object_._replace(refs=refs))
