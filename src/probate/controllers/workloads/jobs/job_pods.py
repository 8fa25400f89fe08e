"""What is asked about a Job and about each of its pods."""

from __future__ import annotations

from probate.api.selectors.requirements import whole_number
from probate.api.timestamps import seconds
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.workloads.pod_template import phase

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of a pod that has not been counted yet."""
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
CONTROLLER = "kubernetes.io/job-controller"
"""What `spec.managedBy` calls this controller."""


def is_ours(job: Object) -> bool:
    """Whether no other controller is to look after the job. (JOB-14)"""
    return job["spec"].get("managedBy") in {None, CONTROLLER}


def told(job: Object) -> list[Object]:
    """The job's conditions."""
    found: list[Object] = (job.get("status") or {}).get("conditions") or []
    return found


def is_finished(job: Object) -> bool:
    """Whether it is over, well or not."""
    return conditions.is_true(told(job), "Complete") or conditions.is_true(told(job), "Failed")


def is_indexed(job: Object) -> bool:
    """Whether each success has a number."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_suspended(job: Object) -> bool:
    """Whether it is to have no pods for now."""
    return bool(job["spec"].get("suspend"))


def limit_per_index(job: Object) -> int | None:
    """How many failures of one index are no failure of it."""
    found: int | None = job["spec"].get("backoffLimitPerIndex")
    return found


def waits_for_failure(job: Object) -> bool:
    """Whether a pod that is on its way out is replaced only once it has ended."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed" or job["spec"].get("podFailurePolicy"))


def uid_of(object_: Object) -> str:
    """The object's uid."""
    uid: str = object_["metadata"]["uid"]
    return uid


def is_tracked(pod: Object) -> bool:
    """Whether the pod has not been counted yet."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def index_of(pod: Object, job: Object) -> int | None:
    """The number of the success that the pod is to bring; None if it has none, or one that is not wanted."""
    index = whole_number((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
    return index if index is not None and 0 <= index < (job["spec"].get("completions") or 0) else None


def is_failed(pod: Object, job: Object) -> bool:
    """Whether the pod counts as failed: it has, or it is on its way out and that is enough. (JOB-3)"""
    if phase(pod) == "Failed":
        return True
    return is_deleting(pod) and phase(pod) != "Succeeded" and not waits_for_failure(job)


def ended_at(pod: Object) -> float:
    """When the pod ended, as far as anybody knows: when its containers did, when it was not ready any more, or was deleted."""
    meta, status = pod["metadata"], pod.get("status") or {}
    statuses = status.get("containerStatuses") or []
    ends: list[str] = [((one.get("state") or {}).get("terminated") or {}).get("finishedAt") or "" for one in statuses]
    if ends and all(ends):
        return max(seconds(one) for one in ends)
    ready = conditions.find(status.get("conditions") or [], "Ready") or {}
    if ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds(ready["lastTransitionTime"])
    if is_deleting(pod):
        return seconds(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
    return seconds(meta["creationTimestamp"])


def failures_before(pod: Object) -> tuple[int, int]:
    """How often the pod's index had failed before: failures that count, and such that were ignored."""
    given = pod["metadata"].get("annotations") or {}
    return whole_number(given.get(FAILURES, "")) or 0, whole_number(given.get(IGNORED_FAILURES, "")) or 0
