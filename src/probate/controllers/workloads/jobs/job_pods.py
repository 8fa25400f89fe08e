"""Properties of a Job and of each of its pods."""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.selectors.requirements import parse_int64
from probate.api.timestamps import parse_time
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.workloads.pod_template import phase

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
"""The finalizer of a pod that is not counted yet."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
CONTROLLER_NAME = "kubernetes.io/job-controller"
"""The name of this controller in `spec.managedBy`."""


def is_managed(job: Object) -> bool:
    """Returns whether this controller, and no other, manages the Job. (JOB-14)"""
    return job["spec"].get("managedBy") in {None, CONTROLLER_NAME}


def conditions_of(job: Object) -> list[Object]:
    """Returns the Job's conditions."""
    value: list[Object] = (job.get("status") or {}).get("conditions") or []
    return value


def is_finished(job: Object) -> bool:
    """Returns whether the Job is complete or failed."""
    return conditions.is_true(conditions_of(job), "Complete") or conditions.is_true(conditions_of(job), "Failed")


def is_indexed(job: Object) -> bool:
    """Returns whether each completion has an index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_suspended(job: Object) -> bool:
    """Returns whether the Job should have no pods now."""
    return bool(job["spec"].get("suspend"))


def backoff_limit_per_index(job: Object) -> int | None:
    """Returns how many failures of one index are tolerated."""
    limit: int | None = job["spec"].get("backoffLimitPerIndex")
    return limit


def replaces_only_finished(job: Object) -> bool:
    """Returns whether a pod that is being deleted is replaced only once it has ended."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed" or job["spec"].get("podFailurePolicy"))


def uid_of(object_: Object) -> str:
    """Returns the object's uid."""
    uid: str = object_["metadata"]["uid"]
    return uid


def has_tracking_finalizer(pod: Object) -> bool:
    """Returns whether the pod is not counted yet."""
    return TRACKING_FINALIZER in (pod["metadata"].get("finalizers") or ())


def index_of(pod: Object, job: Object) -> int | None:
    """Returns the pod's completion index, or None if it has none or one that is out of range."""
    index = parse_int64((pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX, ""))
    return index if index is not None and 0 <= index < (job["spec"].get("completions") or 0) else None


def is_failed(pod: Object, job: Object) -> bool:
    """Returns whether the pod counts as failed: it has failed, or it is being deleted and that is enough. (JOB-3)"""
    if phase(pod) == "Failed":
        return True
    return is_deleting(pod) and phase(pod) != "Succeeded" and not replaces_only_finished(job)


def finish_time(pod: Object) -> float:
    """Returns when the pod ended, as far as is known: when its containers terminated, when it became not ready, or when it was
    deleted.
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    statuses = status.get("containerStatuses") or []
    finish_times: list[str] = [
        ((container_status.get("state") or {}).get("terminated") or {}).get("finishedAt") or "" for container_status in statuses
    ]
    if finish_times and all(finish_times):
        return max(parse_time(time) for time in finish_times)
    ready = conditions.find(status.get("conditions") or [], "Ready") or {}
    if ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_time(ready["lastTransitionTime"])
    if is_deleting(pod):
        return parse_time(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
    return parse_time(meta["creationTimestamp"])


def index_failure_counts(pod: Object) -> tuple[int, int]:
    """Returns how often the pod's index had failed before: counted failures, and ignored ones."""
    annotations = pod["metadata"].get("annotations") or {}
    return parse_int64(annotations.get(INDEX_FAILURE_COUNT, "")) or 0, parse_int64(
        annotations.get(INDEX_IGNORED_FAILURE_COUNT, "")
    ) or 0
