"""ReplicaSets: a number of equal pods, mostly on behalf of a Deployment."""

from __future__ import annotations

from probate.control.means import Means
from probate.control.workers import Workers
from probate.workloads import selectors
from probate.workloads.owners import REPLICA_SET
from probate.workloads.replicas import Flavour, Replicas

FLAVOUR = Flavour(REPLICA_SET, selectors.of_expressions, "replicaset-controller", counts_terminating=True)


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Replicas(FLAVOUR, means).workers]
