"""ReplicationControllers: what there was before ReplicaSets. Their selector is a map of labels."""

from __future__ import annotations

from probate.control.means import Means
from probate.control.workers import Workers
from probate.workloads import selectors
from probate.workloads.owners import REPLICATION_CONTROLLER
from probate.workloads.replicas import Flavour, Replicas

FLAVOUR = Flavour(REPLICATION_CONTROLLER, selectors.of_labels, "replication-controller", counts_terminating=False)


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Replicas(FLAVOUR, means).workers]
