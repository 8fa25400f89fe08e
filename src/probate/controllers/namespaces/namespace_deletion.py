"""Deletes the content of a namespace: pods first, then everything else.

While a pod remains nothing else is deleted, for the pod may still need its ConfigMaps and Secrets to terminate cleanly. All content
is deleted in the background, whatever its finalizers of the collector say: no object of the namespace is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from probate.api import deletion
from probate.api.deletion import PropagationPolicy
from probate.api.ownership import ChangedKeys, Item
from probate.controllers.namespaces import deletion_conditions
from probate.controllers.namespaces.content_deletion import DeletionMethod, RemainingContent, Stage
from probate.controllers.namespaces.scope_deletion import PAGE
from probate.gc.backend import Backend


class Namespaces:
    """Namespaces as scopes."""

    resource = "namespaces"

    @property
    def method(self) -> DeletionMethod:
        return DeletionMethod(PropagationPolicy.BACKGROUND, is_due)

    def scopes_of(self, changed: ChangedKeys, deleting: Collection[str]) -> Collection[str]:
        return (changed.namespace,)

    def stages(self, backend: Backend, name: str) -> Sequence[Stage]:
        pods = functools.partial(backend.list_namespace, name, limit=PAGE, resource="pods")
        return Stage(pods), Stage(functools.partial(backend.list_namespace, name, limit=PAGE))

    def forced_finalizers(self, scope: dict[str, Any]) -> frozenset[str]:
        return frozenset()

    async def with_later_stages(self, backend: Backend, name: str, remaining: RemainingContent) -> RemainingContent:
        return remaining

    def status(self, scope: dict[str, Any], remaining: RemainingContent | None, now: str) -> dict[str, Any]:
        before = scope.get("status") or {}
        return {
            **before,
            "phase": "Terminating",
            "conditions": deletion_conditions.of_namespace(before.get("conditions") or [], remaining, now),
        }


def is_due(item: Item) -> bool:
    """Whether a background delete would change the object: it removes the collector's finalizers."""
    meta = item.meta
    if not item.is_deleting or not deletion.COLLECTOR_FINALIZERS.isdisjoint(meta.finalizers):
        return True
    return not meta.finalizers and not meta.deletion_grace_period_seconds
