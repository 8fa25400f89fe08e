"""Namespaces that are being deleted: pods go first, then everything else.

While a pod is left nothing else is touched, for it may still need its configuration and its secrets to end well. All content is
deleted in the background, whatever was wanted of it before: nobody in the namespace is left to be kept.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from probate.api import deletion
from probate.api.deletion import Policy
from probate.api.ownership import Item, Touch
from probate.controllers.namespaces import deletion_conditions
from probate.controllers.namespaces.content_deletion import Listing, Remains, Way
from probate.controllers.namespaces.scope_deletion import PAGE
from probate.gc.backend import World


class Namespaces:
    """The kind of scope that a namespace is."""

    resource = "namespaces"

    @property
    def way(self) -> Way:
        return Way(Policy.BACKGROUND, is_due)

    def scope_of(self, touch: Touch) -> str:
        return touch.namespace

    def stages(self, world: World, name: str) -> Sequence[Listing]:
        pods = functools.partial(world.content, name, limit=PAGE, resource="pods")
        return pods, functools.partial(world.content, name, limit=PAGE)

    def status(self, scope: dict[str, Any], remains: Remains | None, now: str) -> dict[str, Any]:
        before = scope.get("status") or {}
        return {
            **before,
            "phase": "Terminating",
            "conditions": deletion_conditions.of_namespace(before.get("conditions") or [], remains, now),
        }


def is_due(item: Item) -> bool:
    """Whether a delete in the background would change something: the collector's finalizers are taken off by it."""
    meta = item.meta
    if not item.is_deleting or not deletion.COLLECTORS.isdisjoint(meta.finalizers):
        return True
    return not meta.finalizers and not meta.deletion_grace_period_seconds
