"""The annotations that a Deployment writes on its ReplicaSets, to tell the versions apart and to roll back.

deployment.kubernetes.io/revision            the number of the version; rolling back to a version gives it the next number
deployment.kubernetes.io/revision-history    the earlier numbers of this version
deployment.kubernetes.io/desired-replicas    the desired number of pods of the Deployment when the ReplicaSet was last scaled
deployment.kubernetes.io/max-replicas        the maximum number of pods at that time
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object
from probate.api.selectors.requirements import parse_int64

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
MAX_HISTORY_LENGTH = 2000
"""The maximum length of the history in characters; the oldest revisions are dropped."""

_NOT_COPIED = {
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
}

Annotations = dict[str, str]


def annotations_of(object_: Object) -> Annotations:
    """Returns the annotations of the object."""
    return object_["metadata"].get("annotations") or {}


def annotation_number(object_: Object, name: str) -> int | None:
    """Returns an annotation as a number, or None if it is missing or not a number."""
    return parse_int64(annotations_of(object_).get(name, ""))


def next_revision(old: Iterable[Object]) -> int:
    """Returns the revision after all of these."""
    return max((annotation_number(replica_set, REVISION) or 0 for replica_set in old), default=0) + 1


def new_replica_set_annotations(deployment: Object, new: Object, revision: int) -> Annotations:
    """Returns the annotations of the new ReplicaSet: those of the Deployment, and the revision."""
    copied_annotations = {name: value for name, value in annotations_of(deployment).items() if name not in _NOT_COPIED}
    annotations = {**annotations_of(new), **copied_annotations}
    before = annotation_number(new, REVISION)
    if before is not None and before >= revision:
        return annotations
    if before:
        annotations[REVISION_HISTORY] = _append_revision(annotations.get(REVISION_HISTORY, ""), str(before))
    return {**annotations, REVISION: str(revision)}


def size_annotations(replicas: int, max_replicas: int) -> Annotations:
    """Returns the annotations that record the size of the Deployment."""
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(max_replicas)}


def _append_revision(history: str, revision: str) -> str:
    numbers = [*filter(None, history.split(",")), revision]
    while len(",".join(numbers)) > MAX_HISTORY_LENGTH:
        del numbers[0]
    return ",".join(numbers)
