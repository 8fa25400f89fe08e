"""Definitions of custom kinds that are being deleted: their objects go first.

The objects are deleted as if somebody deleted each without saying what becomes of its dependents: one that asked to wait for them,
or to leave them behind, does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from probate.api.crds import crd_conditions as crds
from probate.api.ownership import Item, Touch
from probate.controllers.namespaces import deletion_conditions
from probate.controllers.namespaces.content_deletion import Listing, Remains, Way
from probate.controllers.namespaces.scope_deletion import PAGE
from probate.gc.backend import World


class Definitions:
    """The kind of scope that a definition is. Its name is that of the resource it defines."""

    resource = "customresourcedefinitions.apiextensions.k8s.io"

    @property
    def way(self) -> Way:
        return Way(None, is_due)

    def scope_of(self, touch: Touch) -> str:
        return touch.resource

    def stages(self, world: World, name: str) -> Sequence[Listing]:
        return (functools.partial(world.all_of, name, limit=PAGE),)

    def status(self, scope: dict[str, Any], remains: Remains | None, now: str) -> dict[str, Any]:
        reason, message = _reason(scope, remains)
        return crds.mark_terminating(scope.get("status") or {}, reason, message, now)


def _reason(scope: dict[str, Any], remains: Remains | None) -> tuple[str, str]:
    if remains is None and not crds.is_true(scope, crds.ESTABLISHED):
        return crds.NEVER_ESTABLISHED, "the kind was never served"
    if remains is None:
        return crds.DELETION_COMPLETED, "no objects of the kind are left"
    reason = crds.DELETION_FAILED if remains.failures else crds.DELETION_IN_PROGRESS
    return reason, deletion_conditions.of_objects(remains)


def is_due(item: Item) -> bool:
    """Whether it has still to be deleted."""
    return not item.is_deleting
