"""Decides what to do with an object, given the states of its owners. A pure function; docs/collector.md shows it as a table.

owners of the object                         has dependents    decision unknown or unresolvable among them           any
nothing: when in doubt, never delete; decide again if the kind is known solid only                                   any
nothing solid, and dangling or waiting ones          any               remove the references to the dangling and the waiting owners
no solid, at least one waiting               yes               delete in the foreground: its own dependents go first no solid
otherwise                           any               delete as the object's own finalizers say, else in the background
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probate.api import deletion
from probate.api.deletion import PropagationPolicy
from probate.api.ownership import Action, Delete, Item, OwnerReference, OwnerState, RemoveOwnerReferences, ResolvedOwner, Uid

Owners = Sequence[tuple[OwnerReference, ResolvedOwner]]
"""The owner references of an object, each with what it resolves to."""

MAX_PRECONDITIONS = 90
"""Items whose being unchanged one action can depend on, on any store."""


class OwnerStatus(NamedTuple):
    """What the owners of an object mean for it. It is the same for all objects with the same owners."""

    is_fine: bool  # nothing has to be done
    has_solid: bool = False  # a solid owner keeps the object
    lost_uids: frozenset[Uid] = frozenset()  # of the owners that are dangling or waiting
    waiting: tuple[Item, ...] = ()
    solid: tuple[Item, ...] = ()
    because: str = ""

    @property
    def depends_on_dependents(self) -> bool:
        """Whether the decision depends on whether the object has dependents itself."""
        return bool(self.waiting) and not self.has_solid


FINE = OwnerStatus(is_fine=True)


def owner_status(owners: Owners) -> OwnerStatus:
    """Returns what these owners mean for their dependents."""
    states = [resolved.state for _, resolved in owners]
    is_doubtful = OwnerState.UNKNOWN in states or OwnerState.UNRESOLVABLE in states
    if is_doubtful or states.count(OwnerState.SOLID) == len(states):
        return FINE
    lost = [(owner, resolved) for owner, resolved in owners if resolved.state is not OwnerState.SOLID]
    return OwnerStatus(
        is_fine=False,
        has_solid=OwnerState.SOLID in states,
        lost_uids=frozenset(owner.uid for owner, _ in lost),
        waiting=_items(owners, OwnerState.WAITING),
        solid=_items(owners, OwnerState.SOLID),
        because="; ".join(dict.fromkeys(_reason(owner, resolved) for owner, resolved in lost)),
    )


def decide(item: Item, status: OwnerStatus, *, has_dependents: bool) -> Action | None:
    """Returns what to do with the object; None if nothing."""
    meta = item.meta
    if status.is_fine or meta.deletion_timestamp is not None:
        return None
    if status.has_solid:
        preconditions = (*status.waiting, *status.solid)[:MAX_PRECONDITIONS]
        return RemoveOwnerReferences(item, status.lost_uids, status.because, preconditions)
    if status.waiting and has_dependents:
        policy = PropagationPolicy.FOREGROUND
    else:
        policy = _policy_of_finalizers(meta.finalizers) if meta.finalizers else PropagationPolicy.BACKGROUND
    return Delete(item, policy, status.because, status.waiting)


def _items(owners: Owners, state: OwnerState) -> tuple[Item, ...]:
    """Returns the owners in this state, each once."""
    items = {resolved.item.key: resolved.item for _, resolved in owners if resolved.state is state and resolved.item is not None}
    return tuple(items.values())[:MAX_PRECONDITIONS]


def _policy_of_finalizers(finalizers: Sequence[str]) -> PropagationPolicy:
    """Returns the policy for the dependents that the object's own finalizers name."""
    if deletion.ORPHAN_FINALIZER in finalizers:
        return PropagationPolicy.ORPHAN
    return PropagationPolicy.FOREGROUND if deletion.is_foreground(finalizers) else PropagationPolicy.BACKGROUND


def _reason(owner: OwnerReference, resolved: ResolvedOwner) -> str:
    return f"owner {owner} is {'waiting for its dependents to be removed' if resolved.state is OwnerState.WAITING else 'gone'}"
