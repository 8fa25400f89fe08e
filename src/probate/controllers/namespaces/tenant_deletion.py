"""Deletes what belongs to a tenant, wherever it is, before its Tenant.

The order spares work and keeps the tenant usable for those who look after its deletion: first what interferes with writes, then
what creates other objects, then pods, then all the rest. Namespaces and CRDs wait for what is in them, and the rights of the
tenant's users for everything else, so that a user can look at what remains and remove a finalizer. Nothing depends on the order:
the tenant is closed, and is removed in a transaction that finds it empty.

All content is deleted in the background, whatever its finalizers of the collector say. Namespaces and CRDs are only marked,
and lose these finalizers: their own controllers empty and remove them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from probate.api import tenants
from probate.api.deletion import COLLECTOR_FINALIZERS, PropagationPolicy
from probate.api.gvk import GroupResource
from probate.api.ownership import ChangedKeys, Item
from probate.controllers.namespaces import deletion_conditions, namespace_deletion
from probate.controllers.namespaces.content_deletion import DeletionMethod, RemainingContent, Stage
from probate.controllers.namespaces.scope_deletion import PAGE
from probate.gc.backend import Backend

_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
INTERFERING = (
    f"mutatingadmissionpolicies.{_ADMISSION}",
    f"mutatingadmissionpolicybindings.{_ADMISSION}",
    f"mutatingwebhookconfigurations.{_ADMISSION}",
    f"validatingadmissionpolicies.{_ADMISSION}",
    f"validatingadmissionpolicybindings.{_ADMISSION}",
    f"validatingwebhookconfigurations.{_ADMISSION}",
    "apiservices.apiregistration.k8s.io",
)
WORKLOADS = (
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "jobs.batch",
    "replicasets.apps",
    "replicationcontrollers",
    "statefulsets.apps",
)
PODS = ("pods",)
VOLUMES = ("persistentvolumeclaims", "persistentvolumes")
SCOPES = ("customresourcedefinitions.apiextensions.k8s.io", "namespaces")
CLUSTER_ACCESS = (f"clusterrolebindings.{_RBAC}", f"clusterroles.{_RBAC}")
NAMESPACE_ACCESS = (f"rolebindings.{_RBAC}", f"roles.{_RBAC}", "serviceaccounts")
"""They are deleted with their namespaces."""
_NOT_THE_REST = (*INTERFERING, *WORKLOADS, *PODS, *VOLUMES, *SCOPES, *CLUSTER_ACCESS, *NAMESPACE_ACCESS)
_MARKED_ONLY = frozenset(SCOPES)
_VOLUMES_OF_CLAIMS = "persistentvolumes"
"""Provisioned volumes belong to the tenant of their claim, and their names do not say so."""
MAX_NAMED = 3
"""Resources or finalizers that `status.waitingFor` names."""


class Tenants:
    """Tenants as scopes."""

    resource = str(tenants.TENANTS)

    @property
    def method(self) -> DeletionMethod:
        return DeletionMethod(PropagationPolicy.BACKGROUND, is_due)

    def scopes_of(self, changed: ChangedKeys, deleting: Collection[str]) -> Collection[str]:
        if changed.namespace:  # they all belong to the same tenants
            return tenants.ids_in_key(changed.keys[0])
        if changed.resource == _VOLUMES_OF_CLAIMS:
            return deleting
        return {tenant for key in changed.keys for tenant in tenants.ids_in_key(key)}

    def stages(self, backend: Backend, name: str) -> Sequence[Stage]:
        list_page = functools.partial(backend.list_tenant, name, limit=PAGE)
        groups = (INTERFERING, WORKLOADS, PODS)
        return (
            *(Stage(functools.partial(list_page, resources=group), waits_for_all=False) for group in groups),
            Stage(functools.partial(list_page, but=_NOT_THE_REST), waits_for_all=False),
            Stage(functools.partial(list_page, resources=VOLUMES), waits_for_all=False),
            Stage(functools.partial(list_page, resources=SCOPES)),
            Stage(functools.partial(list_page, resources=CLUSTER_ACCESS)),
            Stage(list_page),  # what should have been deleted with a namespace that does not exist
        )

    def forced_finalizers(self, scope: dict[str, Any]) -> frozenset[str]:
        return frozenset((scope.get("spec") or {}).get("forceFinalizers") or ())

    async def with_later_stages(self, backend: Backend, name: str, remaining: RemainingContent) -> RemainingContent:
        return remaining._replace(later=await backend.count_tenant(name) - remaining.resources)

    def status(self, scope: dict[str, Any], remaining: RemainingContent | None, now: str) -> dict[str, Any]:
        before, meta = scope.get("status") or {}, scope["metadata"]
        holders = [name for name in meta.get("finalizers") or [] if name != tenants.FINALIZER]
        conditions = deletion_conditions.of_tenant(before.get("conditions") or [], remaining, now, holders=holders)
        status = {
            **before,
            "phase": "Terminating",
            "conditions": conditions,
            "observedGeneration": meta.get("generation") or 0,
            "objects": 0 if remaining is None else (remaining.resources + remaining.later).total(),
            "remaining": [] if remaining is None else _rows(remaining),
            "waitingFor": _finalizers_of_tenant(holders) if remaining is None else _waiting_for(remaining),
        }
        return {name: value for name, value in status.items() if value or name == "objects"}


def is_due(item: Item) -> bool:
    """Whether the object still has to be deleted.

    A namespace or CRD that is being deleted is deleted again only to remove the collector's finalizers: in the foreground it would
    wait for its dependents, and one of them may be the Tenant.
    """
    if item.is_deleting and item.key.split("/", 2)[1] in _MARKED_ONLY:
        return not COLLECTOR_FINALIZERS.isdisjoint(item.meta.finalizers)
    return namespace_deletion.is_due(item)


def _rows(remaining: RemainingContent) -> list[dict[str, Any]]:
    """Returns what remains, by resource, with the finalizers that hold it."""
    rows = []
    for resource, count in sorted((remaining.resources + remaining.later).items()):
        row: dict[str, Any] = {"group": resource.group, "resource": resource.resource, "count": count}
        finalizers = {name: number for (of, name), number in remaining.holders.items() if of == resource}
        if finalizers:
            row["finalizers"] = [{"name": name, "count": number} for name, number in sorted(finalizers.items())]
        rows.append(row)
    return rows


def _waiting_for(remaining: RemainingContent) -> str:
    """Says in a few words what the deletion waits for: objects that cannot be deleted, or finalizers, or what was deleted last."""
    if remaining.failures:
        return f"{_counted(remaining.failures)} that cannot be deleted"
    finalizers = remaining.finalizers
    if not finalizers:
        return _counted(remaining.resources)
    named = sorted(finalizers.items())
    listed = ", ".join(f"{name} ({count})" for name, count in named[:MAX_NAMED])
    return f"finalizers {listed}{_and_more(len(named))}" if len(named) > 1 else f"finalizer {listed}"


def _finalizers_of_tenant(holders: Sequence[str]) -> str:
    return f"finalizers of the Tenant: {', '.join(holders[:MAX_NAMED])}{_and_more(len(holders))}" if holders else ""


def _counted(counts: Counter[GroupResource]) -> str:
    named = sorted((str(resource), count) for resource, count in counts.items())
    return ", ".join(f"{count} {name}" for name, count in named[:MAX_NAMED]) + _and_more(len(named))


def _and_more(number: int) -> str:
    return f" and {number - MAX_NAMED} more" if number > MAX_NAMED else ""
