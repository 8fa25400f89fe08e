"""What a Deployment writes on its ReplicaSets, so that versions can be told apart and gone back to.

deployment.kubernetes.io/revision            which version this is; going back to one makes it the newest
deployment.kubernetes.io/revision-history    which versions it was before
deployment.kubernetes.io/desired-replicas    how many pods were wanted when it got its size
deployment.kubernetes.io/max-replicas        and how many there could be at most
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.selectors.requirements import whole_number
from probate.client.objects import Object

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
MAX_HISTORY = 2000
"""Characters of the history; older revisions are dropped."""

_NOT_COPIED = {
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
}

Annotations = dict[str, str]


def of(object_: Object) -> Annotations:
    """The annotations of the object."""
    return object_["metadata"].get("annotations") or {}


def number(object_: Object, name: str) -> int | None:
    """An annotation that is a number; None if there is none, or it is something else."""
    return whole_number(of(object_).get(name, ""))


def next_revision(old: Iterable[Object]) -> int:
    """The revision after all of these."""
    return max((number(one, REVISION) or 0 for one in old), default=0) + 1


def for_new(deployment: Object, new: Object, revision: int) -> Annotations:
    """The annotations of the new ReplicaSet: the deployment's own, and which version it is."""
    copied = {name: value for name, value in of(deployment).items() if name not in _NOT_COPIED}
    found = {**of(new), **copied}
    before = number(new, REVISION)
    if before is not None and before >= revision:
        return found
    if before:
        found[HISTORY] = _longer(found.get(HISTORY, ""), str(before))
    return {**found, REVISION: str(revision)}


def for_size(replicas: int, most: int) -> Annotations:
    """What a ReplicaSet says about the size it got."""
    return {DESIRED: str(replicas), MOST: str(most)}


def _longer(history: str, revision: str) -> str:
    known = [*filter(None, history.split(",")), revision]
    while len(",".join(known)) > MAX_HISTORY:
        del known[0]
    return ",".join(known)
