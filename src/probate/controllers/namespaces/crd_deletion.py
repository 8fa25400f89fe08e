"""Deletes the custom resources of a CRD before the CRD itself.

Each is deleted as by a request without a propagation policy: an object that has a `foregroundDeletion` or `orphan` finalizer waits
for its dependents, or orphans them.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from probate.api.crds import crd_conditions as crds
from probate.api.ownership import ChangedKeys, Item
from probate.controllers.namespaces import deletion_conditions
from probate.controllers.namespaces.content_deletion import DeletionMethod, RemainingContent, Stage
from probate.controllers.namespaces.scope_deletion import PAGE
from probate.gc.backend import Backend


class CustomResourceDefinitions:
    """CRDs as scopes. The name of a CRD is that of the resource that it defines."""

    resource = "customresourcedefinitions.apiextensions.k8s.io"

    @property
    def method(self) -> DeletionMethod:
        return DeletionMethod(None, is_due)

    def scopes_of(self, changed: ChangedKeys, deleting: Collection[str]) -> Collection[str]:
        return (changed.resource,)

    def stages(self, backend: Backend, name: str) -> Sequence[Stage]:
        return (Stage(functools.partial(backend.list_resource, name, limit=PAGE)),)

    def forced_finalizers(self, scope: dict[str, Any]) -> frozenset[str]:
        return frozenset()

    async def with_later_stages(self, backend: Backend, name: str, remaining: RemainingContent) -> RemainingContent:
        return remaining

    def status(self, scope: dict[str, Any], remaining: RemainingContent | None, now: str) -> dict[str, Any]:
        reason, message = _reason(scope, remaining)
        return crds.mark_terminating(scope.get("status") or {}, reason=reason, message=message, now=now)


def _reason(scope: dict[str, Any], remaining: RemainingContent | None) -> tuple[str, str]:
    if remaining is None and not crds.is_condition_true(scope, crds.ESTABLISHED):
        return crds.NEVER_ESTABLISHED, "the kind was never served"
    if remaining is None:
        return crds.DELETION_COMPLETED, "no objects of the kind are left"
    reason = crds.DELETION_FAILED if remaining.failures else crds.DELETION_IN_PROGRESS
    return reason, deletion_conditions.describe_objects(remaining)


def is_due(item: Item) -> bool:
    """Whether the object still has to be deleted."""
    return not item.is_deleting
