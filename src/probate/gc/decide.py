"""What becomes of an object whose owners stand so. A pure function; docs/collector.md shows it as a table.

owners of the item                           has dependents    what happens
none solid and unknown ones among them       any               nothing: never delete on doubt; look again when the kind is known
solid only                                   any               nothing
solid, and dangling or waiting ones          any               drop the references to the dangling and the waiting
no solid, one waiting at least               yes               delete in the foreground: its own dependents go first
no solid otherwise                           any               delete as the item's own finalizers say, else in the background
"""

from __future__ import annotations

from collections.abc import Sequence

from probate.machinery import deletion
from probate.machinery.deletion import Policy
from probate.machinery.ownership import Action, Delete, Drop, Item, Owner, Seen, Standing

Owners = Sequence[tuple[Owner, Seen]]


def needs_to_know_dependents(item: Item, owners: Owners) -> bool:
    """Whether it depends on the item's own dependents what becomes of it."""
    standings = {seen.standing for _, seen in owners}
    return Standing.WAITING in standings and not standings & {Standing.SOLID, Standing.UNKNOWN, Standing.OUT_OF_REACH}


def decide(item: Item, owners: Owners, *, has_dependents: bool) -> Action | None:
    """What to do about the item now; None if nothing."""
    if item.is_deleting or not owners:
        return None
    standings = {seen.standing for _, seen in owners}
    if standings & {Standing.UNKNOWN, Standing.OUT_OF_REACH} or standings == {Standing.SOLID}:
        return None
    lost = [(owner, seen) for owner, seen in owners if seen.standing is not Standing.SOLID]
    because = "; ".join(dict.fromkeys(_reason(owner, seen) for owner, seen in lost))
    if Standing.SOLID in standings:
        return Drop(item, frozenset(owner.uid for owner, _ in lost), because)
    waiting = tuple({seen.item.where: seen.item for _, seen in owners if seen.item is not None}.values())
    policy = Policy.FOREGROUND if waiting and has_dependents else _own_policy(item)
    return Delete(item, policy, because, waiting)


def _own_policy(item: Item) -> Policy:
    if deletion.ORPHAN in item.meta.finalizers:
        return Policy.ORPHAN
    return Policy.FOREGROUND if deletion.is_foreground(item.meta.finalizers) else Policy.BACKGROUND


def _reason(owner: Owner, seen: Seen) -> str:
    return f"owner {owner} is {'waiting for its dependents to go' if seen.standing is Standing.WAITING else 'gone'}"
