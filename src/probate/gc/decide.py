"""What becomes of an object whose owners stand so. A pure function; docs/collector.md shows it as a table.

owners of the item                           has dependents    what happens
unknown, or out of reach, among them         any               nothing: never delete on doubt; look again when the kind is known
solid only                                   any               nothing
solid, and dangling or waiting ones          any               drop the references to the dangling and the waiting
no solid, one waiting at least               yes               delete in the foreground: its own dependents go first
no solid otherwise                           any               delete as the item's own finalizers say, else in the background
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probate.api import deletion
from probate.api.deletion import Policy
from probate.api.ownership import Action, Delete, Drop, Item, Owner, Seen, Standing

Owners = Sequence[tuple[Owner, Seen]]

MAX_GIVEN = 90
"""Objects whose being unchanged one action can depend on, on any store."""


class Judgement(NamedTuple):
    """What the owners of an object mean for it. The same for all objects that have the same owners."""

    is_fine: bool  # nothing has to be done
    keeps: bool = False  # a solid owner keeps it
    lost: frozenset[str] = frozenset()  # uids of the owners that are gone or wait
    waiting: tuple[Item, ...] = ()
    solid: tuple[Item, ...] = ()
    because: str = ""

    @property
    def needs_to_know_dependents(self) -> bool:
        """Whether it depends on the object's own dependents how it goes."""
        return bool(self.waiting) and not self.keeps


FINE = Judgement(is_fine=True)


def judge(owners: Owners) -> Judgement:
    """What these owners mean."""
    standings = [seen.standing for _, seen in owners]
    is_doubtful = Standing.UNKNOWN in standings or Standing.OUT_OF_REACH in standings
    if is_doubtful or standings.count(Standing.SOLID) == len(standings):
        return FINE
    lost = [(owner, seen) for owner, seen in owners if seen.standing is not Standing.SOLID]
    waiting, solid = (_items(owners, standing) for standing in (Standing.WAITING, Standing.SOLID))
    because = "; ".join(dict.fromkeys(_reason(owner, seen) for owner, seen in lost))
    uids = frozenset(owner.uid for owner, _ in lost)
    return Judgement(False, Standing.SOLID in standings, uids, waiting, solid, because)


def decide(item: Item, judgement: Judgement, *, has_dependents: bool) -> Action | None:
    """What to do about the item now; None if nothing."""
    meta = item.meta
    if judgement.is_fine or meta.deletion_timestamp is not None:
        return None
    if judgement.keeps:
        return Drop(item, judgement.lost, judgement.because, (*judgement.waiting, *judgement.solid)[:MAX_GIVEN])
    if judgement.waiting and has_dependents:
        policy = Policy.FOREGROUND
    else:
        policy = _own_policy(meta.finalizers) if meta.finalizers else Policy.BACKGROUND
    return Delete(item, policy, judgement.because, judgement.waiting)


def _items(owners: Owners, standing: Standing) -> tuple[Item, ...]:
    """The owners that stand so, each once."""
    found = {seen.item.where: seen.item for _, seen in owners if seen.standing is standing and seen.item is not None}
    return tuple(found.values())[:MAX_GIVEN]


def _own_policy(finalizers: Sequence[str]) -> Policy:
    """What the object says about its dependents itself."""
    if deletion.ORPHAN in finalizers:
        return Policy.ORPHAN
    return Policy.FOREGROUND if deletion.is_foreground(finalizers) else Policy.BACKGROUND


def _reason(owner: Owner, seen: Seen) -> str:
    return f"owner {owner} is {'waiting for its dependents to go' if seen.standing is Standing.WAITING else 'gone'}"
