"""The ReplicationController controller: a ReplicaSet controller whose selector is a map of labels."""

from __future__ import annotations

from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.owner_kinds import REPLICATION_CONTROLLER
from probate.controllers.workloads.replica_controller import ReplicaKind, ReplicaSetController

REPLICATION_CONTROLLERS = ReplicaKind(
    REPLICATION_CONTROLLER, owner_selectors.label_map_selector, "replication-controller", counts_terminating=False
)


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [ReplicaSetController(REPLICATION_CONTROLLERS, context).workers]
