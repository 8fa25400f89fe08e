"""The ReplicaSet controller."""

from __future__ import annotations

from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.owner_kinds import REPLICA_SET
from probate.controllers.workloads.replica_controller import ReplicaKind, ReplicaSetController

REPLICA_SETS = ReplicaKind(REPLICA_SET, owner_selectors.label_selector, "replicaset-controller", counts_terminating=True)


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [ReplicaSetController(REPLICA_SETS, context).workers]
