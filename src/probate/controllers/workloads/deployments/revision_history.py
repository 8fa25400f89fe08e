"""The revision history of a Deployment: which old ReplicaSets exceed `revisionHistoryLimit`. (DEP-2, DEP-3)"""

from __future__ import annotations

import functools

from probate.api.objects import Object
from probate.controllers.workloads.deployments import revisions
from probate.controllers.workloads.deployments.replica_sets import ReplicaSets, age_key, desired_replicas, total


def replica_sets_to_delete(deployment: Object, replica_sets: ReplicaSets) -> list[Object]:
    """Returns the old ReplicaSets beyond the limit. One that still has pods, or whose controller lags behind, is not deleted,
    and no other is deleted in its place.
    """
    limit = deployment["spec"].get("revisionHistoryLimit")
    if limit is None:
        return []
    old = sorted(replica_sets.old_not_deleting, key=functools.cmp_to_key(_compare))
    return [replica_set for replica_set in old[: max(0, len(old) - limit)] if _is_deletable(replica_set)]


def _is_deletable(replica_set: Object) -> bool:
    observed = total([replica_set], "observedGeneration")
    return (
        not desired_replicas(replica_set)
        and not total([replica_set], "replicas")
        and replica_set["metadata"]["generation"] <= observed
    )


def _compare(first: Object, second: Object) -> int:
    first_revision, second_revision = (
        revisions.annotation_number(first, revisions.REVISION),
        revisions.annotation_number(second, revisions.REVISION),
    )
    if first_revision is not None and second_revision is not None and first_revision != second_revision:
        return -1 if first_revision < second_revision else 1
    return -1 if age_key(first) < age_key(second) else 1
