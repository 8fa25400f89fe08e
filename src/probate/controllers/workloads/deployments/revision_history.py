"""Which versions of a Deployment are kept to go back to, and which are not. (DEP-2, DEP-3)"""

from __future__ import annotations

import functools

from probate.client.objects import Object
from probate.controllers.workloads.deployments import revisions
from probate.controllers.workloads.deployments.replica_sets import Family, by_age, size, total


def outdated(deployment: Object, family: Family) -> list[Object]:
    """Old ReplicaSets beyond the limit. One that still has pods, or whose controller lags, is left alone, and none goes instead."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    if limit is None:
        return []
    old = sorted(family.living_old, key=functools.cmp_to_key(_compare))
    return [one for one in old[: max(0, len(old) - limit)] if _is_over(one)]


def _is_over(replica_set: Object) -> bool:
    observed = total([replica_set], "observedGeneration")
    return not size(replica_set) and not total([replica_set], "replicas") and replica_set["metadata"]["generation"] <= observed


def _compare(one: Object, other: Object) -> int:
    first, second = revisions.number(one, revisions.REVISION), revisions.number(other, revisions.REVISION)
    if first is not None and second is not None and first != second:
        return -1 if first < second else 1
    return -1 if by_age(one) < by_age(other) else 1
