"""Writes the rules of aggregated ClusterRoles whenever a ClusterRole changes.

An aggregated role may select another aggregated role, so every change enqueues all aggregated roles. Writing one of them is another
change; this ends when no rules are left to add.

Roles of different tenants do not know each other: an aggregated role collects the rules of its own tenant's roles, and one that
belongs to no tenant those of roles that belong to none. Otherwise anyone who may label a role in a tenant could add rules to a role
of the platform. So a change in a tenant enqueues only the few aggregated roles of this tenant.
"""

from __future__ import annotations

from probate.api import tenants
from probate.api.objects import Object
from probate.api.rbac import aggregation
from probate.client.informers import NamespacedName, name_of
from probate.client.names import Index
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result

TITLE = "clusterrole-aggregation-controller"
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [ClusterRoleAggregation(context).workers]


class ClusterRoleAggregation:
    """Writes the rules of aggregated roles."""

    def __init__(self, context: Context) -> None:
        self._roles = context.informers.for_resource(ROLES)
        self._by_tenant = Index()  # the names of all roles, by the id of the tenant; empty for those of no tenant
        self._aggregated = Index()  # the names of aggregated roles, by the same
        self.workers = Workers(TITLE, self._sync, context.clock)
        self._roles.add_event_handler(self._on_change)

    def _on_change(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            for index in self._indexes_of(old):
                index.remove(_tenant_of(old), name_of(old))
        if new is not None:
            for index in self._indexes_of(new):
                index.add(_tenant_of(new), name_of(new))
        for tenant in {_tenant_of(role) for role in (old, new) if role is not None}:
            for name in self._aggregated.get(tenant):
                self.workers.add(name)

    def _indexes_of(self, role: Object) -> list[Index]:
        return [self._by_tenant, self._aggregated] if aggregation.is_aggregated(role) else [self._by_tenant]

    async def _sync(self, name: NamespacedName) -> Result:
        role = self._roles.get(name)
        if role is None or is_deleting(role) or not aggregation.is_aggregated(role):
            return None
        candidates = [self._roles.get(other) for other in self._by_tenant.get(_tenant_of(role))]
        rules = aggregation.aggregated_rules(role, [candidate for candidate in candidates if candidate is not None])
        if rules != (role.get("rules") or []):
            await self._roles.update({**role, "rules": rules})
        return None


def _tenant_of(role: Object) -> str:
    """Returns the id of the tenant that a role belongs to; empty if it belongs to none."""
    tenant: str = (role["metadata"].get("labels") or {}).get(tenants.TENANT_LABEL, "")
    return tenant
