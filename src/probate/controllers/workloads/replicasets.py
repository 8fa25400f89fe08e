"""ReplicaSets: a number of equal pods, mostly on behalf of a Deployment."""

from __future__ import annotations

from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.owner_kinds import REPLICA_SET
from probate.controllers.workloads.replica_controller import Flavour, Replicas

FLAVOUR = Flavour(REPLICA_SET, owner_selectors.of_expressions, "replicaset-controller", counts_terminating=True)


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Replicas(FLAVOUR, means).workers]
