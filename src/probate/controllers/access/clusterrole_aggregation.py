"""ClusterRoles that are put together from others have the rules of those, whenever one of them changes.

A role may be part of a sum that is itself part of another, so every change is followed by a look at all sums; one that has become
another is a change of its own, and they come to rest when nothing is left to add.
"""

from __future__ import annotations

from probate.api.rbac import aggregation
from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers

TITLE = "clusterrole-aggregation-controller"
ROLES = Kind("rbac.authorization.k8s.io", "v1", "clusterroles")


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [Aggregation(means).workers]


class Aggregation:
    """Writes the rules of sums."""

    def __init__(self, means: Means) -> None:
        self._roles = means.informers.of(ROLES)
        self._sums: set[Name] = set()
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._roles.listen(self._take)

    def _take(self, old: Object | None, new: Object | None) -> None:
        if new is not None and aggregation.is_aggregated(new):
            self._sums.add(name_of(new))
        elif old is not None:
            self._sums.discard(name_of(old))
        for name in self._sums:
            self.workers.add(name)

    async def _sync(self, name: Name) -> float | None:
        role = self._roles.get(name)
        if role is None or is_deleting(role) or not aggregation.is_aggregated(role):
            return None
        rules = aggregation.rules_of(role, list(self._roles))
        if rules != (role.get("rules") or []):
            await self._roles.update({**role, "rules": rules})
        return None
