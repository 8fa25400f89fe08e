"""The state of a Job, derived from its status and its pods. This module decides and changes nothing.

A finished pod is in one of three states: not counted (it holds the finalizer), about to be counted (its uid is in the status), or
counted.
"""

from __future__ import annotations

import functools

from probate.api.objects import Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.jobs import completed_indexes, failure_policy, job_pods
from probate.controllers.workloads.jobs.job_pods import uid_of


class JobState:
    """A snapshot of a Job and its pods."""

    def __init__(self, job: Object, pods: list[Object]) -> None:
        self.job = job
        self.pods = pods
        self.active = [pod for pod in pods if pod_template.is_active(pod)]
        self.terminating = [pod for pod in pods if pod_template.is_terminating(pod)]
        self._status = job.get("status") or {}
        uncounted = self._status.get("uncountedTerminatedPods") or {}
        self.uncounted_succeeded = set(uncounted.get("succeeded") or ())
        self.uncounted_failed = set(uncounted.get("failed") or ())
        uncounted_uids = self.uncounted_succeeded | self.uncounted_failed
        new = [
            pod
            for pod in pods
            if job_pods.has_tracking_finalizer(pod) and self._has_valid_index(pod) and uid_of(pod) not in uncounted_uids
        ]
        self.new_succeeded = [pod for pod in new if pod_template.phase(pod) == "Succeeded"]
        self.new_failed = [pod for pod in new if job_pods.is_failed(pod, job)]

    def _has_valid_index(self, pod: Object) -> bool:
        return not job_pods.is_indexed(self.job) or job_pods.index_of(pod, self.job) is not None

    @property
    def completions(self) -> int | None:
        value: int | None = self.job["spec"].get("completions")
        return value

    @functools.cached_property
    def succeeded(self) -> int:
        """The number of successes so far."""
        if job_pods.is_indexed(self.job):
            return len(self.succeeded_indexes)
        return (self._status.get("succeeded") or 0) + len(self.new_succeeded) + len(self.uncounted_succeeded)

    @functools.cached_property
    def failed(self) -> int:
        """The number of failures so far that count."""
        new = [pod for pod in self.new_failed if not failure_policy.is_ignored(self.job, pod)]
        return (self._status.get("failed") or 0) + len(new) + len(self.uncounted_failed)

    @functools.cached_property
    def succeeded_indexes(self) -> set[int]:
        """The indexes that have succeeded."""
        recorded = completed_indexes.parse_indexes(self._status.get("completedIndexes"), self.completions or 0)
        return recorded | self._indexes(self.new_succeeded)

    @functools.cached_property
    def failed_indexes(self) -> set[int]:
        """The indexes that have failed for good, with backoffLimitPerIndex."""
        limit = job_pods.backoff_limit_per_index(self.job)
        if limit is None:
            return set()
        recorded = completed_indexes.parse_indexes(self._status.get("failedIndexes"), self.completions or 0)
        failed_pods = [pod for pod in self.new_failed if self._is_last_failure(pod, limit)]
        return (recorded | self._indexes(failed_pods)) - self.succeeded_indexes

    def _is_last_failure(self, pod: Object, limit: int) -> bool:
        action = failure_policy.failure_action(self.job, pod)[0]
        return action == "FailIndex" or (action != "Ignore" and job_pods.index_failure_counts(pod)[0] >= limit)

    @functools.cached_property
    def to_replace(self) -> dict[int, Object]:
        """The latest failed pod of each index that gets another pod. Its annotations say how often the index has failed."""
        if job_pods.backoff_limit_per_index(self.job) is None:
            return {}
        finished = self.succeeded_indexes | self.failed_indexes | self._indexes(self.active)
        result: dict[int, Object] = {}
        for pod in sorted(self.new_failed, key=lambda pod: sum(job_pods.index_failure_counts(pod))):
            index = job_pods.index_of(pod, self.job)
            if index is not None and index not in finished:
                result[index] = pod
        return result

    def pending_indexes(self, number: int) -> list[int]:
        """Returns the first indexes that need a pod and have none."""
        busy = self.active + (self.terminating if job_pods.replaces_only_finished(self.job) else [])
        done = self.succeeded_indexes | self.failed_indexes | self._indexes(busy)
        result: list[int] = []
        for index in range(self.completions or 0):
            if len(result) >= number:
                break
            if index not in done:
                result.append(index)
        return result

    def _indexes(self, pods: list[Object]) -> set[int]:
        indexes = (job_pods.index_of(pod, self.job) for pod in pods)
        return {index for index in indexes if index is not None}
