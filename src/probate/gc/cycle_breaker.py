"""Breaks cycles of owners that wait for each other, one reference at a time, when no other work is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate.api.object_keys import Key
from probate.api.ownership import Action, ClearBlockOwnerDeletion, Item, OwnerReference
from probate.gc import cycles, decide

WaitingOwners: TypeAlias = Callable[[list[tuple[Item, OwnerReference]]], Awaitable[list[Item | None]]]
"""Returns the owner of each reference if it is waiting."""


async def break_cycles(candidates: list[Item], waiting_owners: WaitingOwners) -> list[Action]:
    """Returns one action for each cycle that these items are part of. Items that wait for others outside a cycle are left alone."""
    nodes: dict[Key, Item] = {}
    points_at: dict[Key, list[Key]] = {}
    frontier = [item for item in candidates if item.is_waiting]
    while frontier:
        nodes.update((item.key, item) for item in frontier)
        references = [(item, owner) for item in frontier for owner in item.meta.owner_references if owner.block_owner_deletion]
        frontier = []
        for (item, _), owner in zip(references, await waiting_owners(references), strict=True):
            if owner is not None:
                points_at.setdefault(item.key, []).append(owner.key)
                if owner.key not in nodes:
                    nodes[owner.key] = owner
                    frontier.append(owner)
    return [_break([nodes[key] for key in sorted(cycle)]) for cycle in cycles.find_cycles(points_at)]


def _break(cycle: list[Item]) -> Action:
    """Makes one object stop blocking the others, if the cycle is unchanged. What remains of it is found again.

    It is the object that closed the cycle by being deleted last, as in Kubernetes.
    """
    last = max(cycle, key=lambda item: item.revision)
    others = [item for item in cycle if item is not last]
    uids = frozenset(item.meta.uid for item in cycle)
    because = "it and its owners wait for each other"
    return ClearBlockOwnerDeletion(last, uids, because, tuple(others[: decide.MAX_PRECONDITIONS]))
