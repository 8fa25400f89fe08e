"""The rules of deletion and collection, once more and as simply as can be, to hold the server against.

A `World` is all objects there are. Requests change it at once. The collector changes it by small steps, each of which the rules
must allow at that moment (`steps`), and it may rest only where the rules leave nothing to be done (`is_at_rest`). Nothing here says
in which order steps come: `deletion_account` holds them against the changes that the store has seen.

What an owner has to do with its dependents:

    deleted, nothing more                 they lose it only once it is really gone
    waiting (foreground)                  they are deleted, or lose the reference if another owner is solid; it leaves after those
                                          that block it. One that has changed its owners since it waits is let be, until it is
                                          all that keeps the owner
    orphaning                             they lose the reference, then it leaves

A reference holds if its owner is there, in reach, under this name, kind and uid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from support import sample_kinds

ORPHAN = "orphan"
FOREGROUND = ("foregroundDeletion", "CollectingGarbage", "GarbageCollectionInProgress")
OF_THE_COLLECTOR = (ORPHAN, *FOREGROUND)
POD_GRACE = 30

_SHORT = {(kind.version, kind.kind): short for short, kind in sample_kinds.KINDS.items()}


class Ref(NamedTuple):
    version: str
    kind: str
    name: str
    uid: str
    blocks: bool


class Thing(NamedTuple):
    """An object, as far as the rules look at it."""

    short: str
    namespace: str
    name: str
    uid: str
    refs: tuple[Ref, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    grace: int | None = None  # a pod's, while it is deleted
    on_node: bool = False
    late: frozenset[str] = frozenset()  # owners that were waiting already when it came to have the owners it has

    @property
    def place(self) -> tuple[str, str, str]:
        return self.short, self.namespace, self.name

    @property
    def is_waiting(self) -> bool:
        return self.deleting and any(one in FOREGROUND for one in self.finalizers)

    @property
    def is_orphaning(self) -> bool:
        return self.deleting and ORPHAN in self.finalizers

    @property
    def is_leaving(self) -> bool:
        """Whether nothing holds it any more. A pod is marked first and removed right after: others may get in between."""
        return self.deleting and not self.finalizers and not self.grace

    @property
    def seen(self) -> Thing:
        """What a client can see of it."""
        return self._replace(late=frozenset())


World = Mapping[str, Thing]
"""All objects by uid."""


# --- what requests do -------------------------------------------------------------------------------------------------------


def at(world: World, place: tuple[str, str, str]) -> Thing | None:
    return next((one for one in world.values() if one.place == place), None)


def create(world: World, new: Thing) -> World:
    return _put(world, new._replace(late=_waiting_owners(world, new)))


def rewrite(world: World, thing: Thing) -> World:
    """The object is written as it is: of references that say the same, one is kept."""
    return _put(world, thing._replace(refs=tuple(dict.fromkeys(thing.refs))))


def rewrite_owners(world: World, thing: Thing, refs: tuple[Ref, ...]) -> World:
    if refs == thing.refs:
        return world
    new = thing._replace(refs=refs)
    return _put(world, new._replace(late=_waiting_owners(world, new)))


def rewrite_finalizers(world: World, thing: Thing, finalizers: tuple[str, ...]) -> World | None:
    """None if that is refused."""
    if thing.deleting and not set(finalizers) <= set(thing.finalizers):
        return None
    if are_contradictory(finalizers):
        return None
    return rewrite(world, thing._replace(finalizers=finalizers))


def are_contradictory(finalizers: Iterable[str]) -> bool:
    return ORPHAN in finalizers and any(one in FOREGROUND for one in finalizers)


def delete(world: World, thing: Thing, policy: str | None = None, grace: int | None = None) -> World:
    """The object goes, or is marked. Policy is Orphan, Background, Foreground or None."""
    if thing.short == "pod":
        if thing.grace and (grace is None or grace >= thing.grace):
            return world  # it is ending as soon already
        if not thing.deleting:
            grace = (POD_GRACE if grace is None else grace) if thing.on_node else 0
        elif not thing.grace:
            grace = 0
    else:
        grace = 0
    marked = thing._replace(deleting=True, grace=grace, finalizers=_finalizers_of_deleted(thing, policy))
    return {**world, thing.uid: marked} if marked.is_leaving and thing.short == "pod" and marked != thing else _put(world, marked)


def _finalizers_of_deleted(thing: Thing, policy: str | None) -> tuple[str, ...]:
    there = [one for one in thing.finalizers if one in OF_THE_COLLECTOR]
    others = tuple(one for one in thing.finalizers if one not in OF_THE_COLLECTOR)
    if policy is None and there:
        policy = "Orphan" if there[0] == ORPHAN else "Foreground"
    elif policy is None and thing.short in {"rc", "job"}:
        policy = "Orphan"
    if policy in {None, "Background"} or thing.short == "event":
        return others
    if policy == "Orphan":
        return thing.finalizers if there == [ORPHAN] else (*others, ORPHAN)
    return thing.finalizers if there and ORPHAN not in there else (*others, FOREGROUND[0])


def _put(world: World, thing: Thing) -> World:
    """The world with the object as it is now; without it if nothing holds it any more."""
    before = world.get(thing.uid)
    if thing.is_leaving:
        return {uid: one for uid, one in world.items() if uid != thing.uid}
    if thing.is_waiting and not (before is not None and before.is_waiting):  # from now on nobody is late
        world = {uid: one._replace(late=one.late - {thing.uid}) for uid, one in world.items()}
        thing = thing._replace(late=thing.late - {thing.uid})
    return {**world, thing.uid: thing}


def _waiting_owners(world: World, thing: Thing) -> frozenset[str]:
    return frozenset(ref.uid for ref in thing.refs if ref.uid in world and world[ref.uid].is_waiting)


# --- what the collector does ------------------------------------------------------------------------------------------------


class Lately(NamedTuple):
    """What was so at some moment since the last rest: two decisions may be a moment old when they are carried out.

    How an object goes follows from the dependents it had when it was looked at: one that comes after that is collected later. And
    a circle that has become part of a larger one is opened as what it was.
    """

    parents: frozenset[str]  # who had dependents
    childless: frozenset[str]  # and who had none
    circles: frozenset[frozenset[str]]

    def and_now(self, world: World) -> Lately:
        parents = frozenset(one.uid for one in world.values() if has_dependents(world, one))
        return Lately(self.parents | parents, self.childless | (world.keys() - parents), self.circles | {*circles(world)})


NEVER = Lately(frozenset(), frozenset(), frozenset())


def steps(world: World, lately: Lately) -> Iterator[World]:
    """Every world that one step of the collector may lead to."""
    for thing in world.values():
        if thing.is_leaving:
            yield _put(world, thing)
        elif thing.is_orphaning:
            yield from _orphan(world, thing)
        elif thing.is_waiting and not any(_refers(one, thing, blocking=True) for one in world.values()):
            yield _release(world, thing)
        else:
            yield from _collected(world, thing, lately)
    now = circles(world)
    for circle in [one for one in lately.circles if any(one <= other for other in now)]:
        for uid in circle:
            yield _unblocked(world, world[uid], circle)


def is_at_rest(world: World) -> bool:
    """Whether the collector may leave the world as it is."""
    for thing in world.values():
        if thing.is_leaving or thing.is_orphaning or (_must_be_collected(world, thing) and _is_due(world, thing)):
            return False
        if thing.is_waiting:
            blockers = [one for one in world.values() if _refers(one, thing, blocking=True)]
            if all(_is_due(world, one) for one in blockers):  # also if there are none
                return False
    return not circles(world)


def _orphan(world: World, owner: Thing) -> Iterator[World]:
    dependents = [one for one in world.values() if _refers(one, owner)]
    strays = [one for one in world.values() if not one.namespace and any(ref.uid == owner.uid for ref in one.refs)]
    for one in {one.uid: one for one in (*dependents, *strays)}.values():
        yield rewrite_owners(world, one, tuple(ref for ref in one.refs if ref.uid != owner.uid))
    if not dependents:
        yield _release(world, owner)


def _release(world: World, thing: Thing) -> World:
    return _put(world, thing._replace(finalizers=tuple(one for one in thing.finalizers if one not in OF_THE_COLLECTOR)))


def _is_due(world: World, thing: Thing) -> bool:
    """Whether something can be done about the object as its owners stand."""
    if thing.deleting or thing.short == "event":
        return False
    standings = {_standing(world, thing, ref) for ref in thing.refs}
    return "unknown" not in standings and not standings <= {"solid"}


def _collected(world: World, thing: Thing, lately: Lately) -> Iterator[World]:
    """The world once the object has been dealt with as its owners stand."""
    if not _is_due(world, thing):
        return
    standings = [_standing(world, thing, ref) for ref in thing.refs]
    if "solid" in standings:
        lost = {ref.uid for ref, standing in zip(thing.refs, standings, strict=True) if standing != "solid"}
        yield _put(world, thing._replace(refs=tuple(ref for ref in thing.refs if ref.uid not in lost)))
        return
    if "waiting" in standings and thing.uid in lately.parents:
        yield delete(world, thing, "Foreground")
    if "waiting" not in standings or thing.uid in lately.childless:
        own = [one for one in thing.finalizers if one in OF_THE_COLLECTOR]
        yield delete(world, thing, None if own else "Background")


def _must_be_collected(world: World, thing: Thing) -> bool:
    standings = [(ref, _standing(world, thing, ref)) for ref in thing.refs]
    return any(one == "dangling" or (one == "waiting" and ref.uid not in thing.late) for ref, one in standings)


def _standing(world: World, thing: Thing, ref: Ref) -> str:
    """How an owner stands. `unknown` is also one that would have to be in a namespace while the object is in none."""
    short = _SHORT.get((ref.version, ref.kind))
    if short is None:
        return "unknown"
    is_namespaced = sample_kinds.KINDS[short].is_namespaced
    if is_namespaced and not thing.namespace:
        return "unknown"
    owner = world.get(ref.uid)
    if owner is None or owner.place != (short, thing.namespace if is_namespaced else "", ref.name):
        return "dangling"
    return "waiting" if owner.is_waiting else "solid"


def _refers(thing: Thing, owner: Thing, *, blocking: bool = False) -> bool:
    """Whether the object is a dependent of the owner: it mentions it, from where that counts."""
    if thing.short == "event" or (owner.namespace and thing.namespace != owner.namespace):
        return False
    return any(ref.uid == owner.uid and (ref.blocks or not blocking) for ref in thing.refs)


def has_dependents(world: World, thing: Thing) -> bool:
    return any(_refers(one, thing) for one in world.values())


def circles(world: World) -> list[frozenset[str]]:
    """Those who wait, directly or not, for themselves: all that are on a round with each other."""
    waiting = [one for one in world.values() if one.is_waiting]
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


def _unblocked(world: World, thing: Thing, circle: frozenset[str]) -> World:
    """One of a circle lets go of the others. Whether they still go round after that remains to be seen."""
    refs = tuple(ref._replace(blocks=False) if ref.uid in circle else ref for ref in thing.refs)
    return _put(world, thing._replace(refs=refs))
