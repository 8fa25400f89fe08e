"""Creates the namespaces that clients expect in every cluster."""

from __future__ import annotations

from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.store.contract import Store

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


async def ensure_namespaces(store: Store, planner: CreationPlanner) -> None:
    """Creates the namespaces that are missing. Several servers may do so at once."""
    resource = planner.resource("", "namespaces")
    await store.commit_many([planner.plan(resource, {"metadata": {"name": name}}) for name in NAMESPACES])
