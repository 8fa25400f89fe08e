"""Writes the rules of aggregated ClusterRoles whenever a ClusterRole changes.

An aggregated role may select another aggregated role, so every change enqueues all aggregated roles. Writing one of them is another
change; this ends when no rules are left to add.

A role of a tenant aggregates roles of the same tenant only, and one of the platform roles of the platform.
"""

from __future__ import annotations

from probate.api import tenants
from probate.api.objects import Object
from probate.api.rbac import aggregation
from probate.client.informers import NamespacedName, name_of
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
        self._aggregated: set[NamespacedName] = set()
        self.workers = Workers(TITLE, self._sync, context.clock)
        self._roles.add_event_handler(self._on_change)

    def _on_change(self, old: Object | None, new: Object | None) -> None:
        if new is not None and aggregation.is_aggregated(new):
            self._aggregated.add(name_of(new))
        elif old is not None:
            self._aggregated.discard(name_of(old))
        for name in self._aggregated:
            self.workers.add(name)

    async def _sync(self, name: NamespacedName) -> Result:
        role = self._roles.get(name)
        if role is None or is_deleting(role) or not aggregation.is_aggregated(role):
            return None
        tenant = tenants.tenant_of(role)
        rules = aggregation.aggregated_rules(role, [one for one in self._roles if tenants.tenant_of(one) == tenant])
        if rules != (role.get("rules") or []):
            await self._roles.update({**role, "rules": rules})
        return None
