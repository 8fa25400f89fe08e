"""Owners that wait for each other: found when nothing else is left to do, and opened one reference at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate.api.ownership import Action, Item, Owner, Unblock
from probate.gc import cycles, decide

Blocked: TypeAlias = Callable[[list[tuple[Item, Owner]]], Awaitable[list[Item | None]]]
"""Of each reference, the owner if it waits."""


async def untie(stuck: list[Item], blocked: Blocked) -> list[Action]:
    """What opens each circle that these are in. Those who wait for others stay as they are."""
    nodes: dict[str, Item] = {}
    points_at: dict[str, list[str]] = {}
    frontier = [item for item in stuck if item.is_waiting]
    while frontier:
        nodes.update((item.where, item) for item in frontier)
        asked = [(item, owner) for item in frontier for owner in item.meta.owner_references if owner.block_owner_deletion]
        frontier = []
        for (item, _), waiting in zip(asked, await blocked(asked), strict=True):
            if waiting is not None:
                points_at.setdefault(item.where, []).append(waiting.where)
                if waiting.where not in nodes:
                    nodes[waiting.where] = waiting
                    frontier.append(waiting)
    return [_open([nodes[where] for where in sorted(circle)]) for circle in cycles.circles(points_at)]


def _open(circle: list[Item]) -> Action:
    """Let one of them block the others no more, as long as the circle is what it was found to be. What is left comes again.

    It is the one that closed the circle by being deleted last, as in Kubernetes.
    """
    one = max(circle, key=lambda item: item.revision)
    others = [item for item in circle if item is not one]
    uids = frozenset(item.meta.uid for item in circle)
    return Unblock(one, uids, "it and its owners wait for each other", tuple(others[: decide.MAX_GIVEN]))
