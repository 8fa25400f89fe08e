"""Records the end of each pod in a Job's status exactly once. (JOB-4)

    1. the uid of a finished pod is written to status.uncountedTerminatedPods
    2. the pod's finalizer is removed
    3. uids whose pods no longer hold the finalizer are counted, and the count is written

After an interruption the controller continues from the written status. An index that succeeded needs no uid, because recording it
twice changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.workloads.jobs import completed_indexes, failure_policy, job_pods
from probate.controllers.workloads.jobs.completion import JobOutcome
from probate.controllers.workloads.jobs.job_pods import uid_of
from probate.controllers.workloads.jobs.job_state import JobState
from probate.controllers.workloads.pod_template import phase

MAX_UNCOUNTED_PODS = 500
"""The maximum number of uids in status.uncountedTerminatedPods. (JOB-5)"""


class ListedPods(NamedTuple):
    """Pods whose end is, or is about to be, recorded: their finalizer can be removed then. `is_complete`: no finished pod is
    left out.
    """

    pods: list[Object]
    is_complete: bool


class FinishedPodTracker:
    """The part of a Job's status that counts pods."""

    def __init__(self, state: JobState) -> None:
        status = state.job.get("status") or {}
        uncounted = status.get("uncountedTerminatedPods") or {}
        self._state = state
        self._succeeded: int = status.get("succeeded") or 0
        self._failed: int = status.get("failed") or 0
        self._uncounted: dict[str, list[str]] = {name: list(uncounted.get(name) or ()) for name in ("succeeded", "failed")}
        self._indexes = {name: status.get(name) for name in ("completedIndexes", "failedIndexes")}

    @property
    def has_no_uncounted(self) -> bool:
        """Returns whether no listed pod waits to be counted."""
        return not any(self._uncounted.values())

    def list_finished(self, outcome: JobOutcome | None) -> ListedPods:
        """Lists the pods that have ended."""
        job, remaining = self._state.job, MAX_UNCOUNTED_PODS - sum(map(len, self._uncounted.values()))
        to_replace = set(map(uid_of, self._state.to_replace.values()))
        waiting = [
            pod for pod in self._state.pods if job_pods.has_tracking_finalizer(pod) and self._can_release(pod, outcome, to_replace)
        ]
        waiting.sort(key=lambda pod: (job_pods.index_of(pod, job) or 0, uid_of(pod)))
        succeeded_indexes: set[int] = set()
        for number, pod in enumerate(waiting):
            if remaining <= 0:
                self._record_indexes(succeeded_indexes)
                return ListedPods(waiting[:number], is_complete=False)
            remaining -= self._list_pod(pod, outcome, succeeded_indexes)
        self._record_indexes(succeeded_indexes)
        return ListedPods(waiting, is_complete=True)

    def count_released(self, tracked_uids: set[str]) -> None:
        """Counts the listed pods that no longer hold the finalizer."""
        released = {name: [uid for uid in uids if uid not in tracked_uids] for name, uids in self._uncounted.items()}
        self._uncounted = {name: [uid for uid in uids if uid in tracked_uids] for name, uids in self._uncounted.items()}
        self._succeeded += len(released["succeeded"])
        self._failed += len(released["failed"])

    def to_status(self) -> Object:
        """Returns the status fields that count pods."""
        counts = {"succeeded": self._succeeded, "failed": self._failed}
        return {
            **{name: count for name, count in counts.items() if count},
            **{name: text for name, text in self._indexes.items() if text is not None},
            "uncountedTerminatedPods": {name: uids for name, uids in self._uncounted.items() if uids},
        }

    def _can_release(self, pod: Object, outcome: JobOutcome | None, to_replace: set[str]) -> bool:
        """Returns whether the pod needs no further examination, so its finalizer may be removed. (JOB-2)"""
        if is_deleting(self._state.job) or outcome is not None or phase(pod) == "Succeeded":
            return True
        return job_pods.is_failed(pod, self._state.job) and uid_of(pod) not in to_replace

    def _list_pod(self, pod: Object, outcome: JobOutcome | None, succeeded_indexes: set[int]) -> int:
        """Lists the pod if its end counts. Returns how much of the limit that uses."""
        job, uid, index = self._state.job, uid_of(pod), job_pods.index_of(pod, self._state.job)
        if phase(pod) == "Succeeded" and uid not in self._uncounted["failed"]:
            if not job_pods.is_indexed(job):
                return self._list("succeeded", uid)
            succeeded_indexes |= {index} if index is not None else set()
            return 1
        has_failed = job_pods.is_failed(pod, job) or (outcome is not None and not outcome.is_success)
        is_counted = (index is not None or not job_pods.is_indexed(job)) and not failure_policy.is_ignored(job, pod)
        return self._list("failed", uid) if has_failed and is_counted else 0

    def _list(self, name: str, uid: str) -> int:
        """Lists a pod once: a pod whose phase changes after it was listed counts in its earlier phase."""
        if any(uid in uids for uids in self._uncounted.values()):
            return 0
        self._uncounted[name].append(uid)
        return 1

    def _record_indexes(self, succeeded_indexes: set[int]) -> None:
        job = self._state.job
        if not job_pods.is_indexed(job):
            return
        completed = (
            completed_indexes.parse_indexes(self._indexes["completedIndexes"], self._state.completions or 0) | succeeded_indexes
        )
        self._succeeded = len(completed)
        self._indexes["completedIndexes"] = completed_indexes.format_indexes(completed) or None
        if job_pods.backoff_limit_per_index(job) is not None:
            self._indexes["failedIndexes"] = completed_indexes.format_indexes(self._state.failed_indexes)


def with_target_condition(job_conditions: list[Object], outcome: JobOutcome | None, now: str) -> list[Object]:
    """Returns the conditions with the interim condition of the outcome."""
    return job_conditions if outcome is None else _put(job_conditions, outcome.target_condition(), now)


def with_finished_condition(job_conditions: list[Object], outcome: JobOutcome, now: str) -> list[Object]:
    """Returns the conditions with the final condition of the outcome."""
    return _put(job_conditions, outcome.finished_condition(), now)


def _put(job_conditions: list[Object], condition: Object, now: str) -> list[Object]:
    return conditions.replace(job_conditions, condition, now, "lastProbeTime")
