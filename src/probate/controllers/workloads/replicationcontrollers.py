"""ReplicationControllers: what there was before ReplicaSets. Their selector is a map of labels."""

from __future__ import annotations

from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.owner_kinds import REPLICATION_CONTROLLER
from probate.controllers.workloads.replica_controller import Flavour, Replicas

FLAVOUR = Flavour(REPLICATION_CONTROLLER, owner_selectors.of_labels, "replication-controller", counts_terminating=False)


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Replicas(FLAVOUR, means).workers]
