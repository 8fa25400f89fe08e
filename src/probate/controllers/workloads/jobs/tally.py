"""How a Job stands, from what it has written down and from its pods: nothing is decided here, and nothing changed.

A pod is in one of three places: not counted (it holds the finalizer), about to be counted (its uid is in the status), or counted.
"""

from __future__ import annotations

import functools

from probate.client.objects import Object
from probate.controllers.workloads import pod_template as facts
from probate.controllers.workloads.jobs import completed_indexes, failure_policy, job_pods
from probate.controllers.workloads.jobs.job_pods import uid_of


class Tally:
    """One look at a job and its pods."""

    def __init__(self, job: Object, pods: list[Object]) -> None:
        self.job = job
        self.pods = pods
        self.active = [pod for pod in pods if facts.is_active(pod)]
        self.terminating = [pod for pod in pods if facts.is_terminating(pod)]
        self._status = job.get("status") or {}
        listed = self._status.get("uncountedTerminatedPods") or {}
        self.listed_succeeded = set(listed.get("succeeded") or ())
        self.listed_failed = set(listed.get("failed") or ())
        known = self.listed_succeeded | self.listed_failed
        new = [pod for pod in pods if job_pods.is_tracked(pod) and self._is_wanted(pod) and uid_of(pod) not in known]
        self.new_succeeded = [pod for pod in new if facts.phase(pod) == "Succeeded"]
        self.new_failed = [pod for pod in new if job_pods.is_failed(pod, job)]

    def _is_wanted(self, pod: Object) -> bool:
        return not job_pods.is_indexed(self.job) or job_pods.index_of(pod, self.job) is not None

    @property
    def completions(self) -> int | None:
        found: int | None = self.job["spec"].get("completions")
        return found

    @functools.cached_property
    def succeeded(self) -> int:
        """Successes so far."""
        if job_pods.is_indexed(self.job):
            return len(self.succeeded_indexes)
        return (self._status.get("succeeded") or 0) + len(self.new_succeeded) + len(self.listed_succeeded)

    @functools.cached_property
    def failed(self) -> int:
        """Failures so far that matter."""
        new = [pod for pod in self.new_failed if not failure_policy.is_ignored(self.job, pod)]
        return (self._status.get("failed") or 0) + len(new) + len(self.listed_failed)

    @functools.cached_property
    def succeeded_indexes(self) -> set[int]:
        """The indexes that have succeeded."""
        known = completed_indexes.read(self._status.get("completedIndexes"), self.completions or 0)
        return known | self._indexes(self.new_succeeded)

    @functools.cached_property
    def failed_indexes(self) -> set[int]:
        """The indexes that are given up, where each has a limit of its own."""
        limit = job_pods.limit_per_index(self.job)
        if limit is None:
            return set()
        known = completed_indexes.read(self._status.get("failedIndexes"), self.completions or 0)
        lost = [pod for pod in self.new_failed if self._is_last(pod, limit)]
        return (known | self._indexes(lost)) - self.succeeded_indexes

    def _is_last(self, pod: Object, limit: int) -> bool:
        action = failure_policy.action(self.job, pod)[0]
        return action == "FailIndex" or (action != "Ignore" and job_pods.failures_before(pod)[0] >= limit)

    @functools.cached_property
    def to_replace(self) -> dict[int, Object]:
        """The latest failed pod of each index that gets another one: it says how often the index has failed."""
        if job_pods.limit_per_index(self.job) is None:
            return {}
        over = self.succeeded_indexes | self.failed_indexes | self._indexes(self.active)
        found: dict[int, Object] = {}
        for pod in sorted(self.new_failed, key=lambda one: sum(job_pods.failures_before(one))):
            index = job_pods.index_of(pod, self.job)
            if index is not None and index not in over:
                found[index] = pod
        return found

    def pending_indexes(self, number: int) -> list[int]:
        """The first indexes that have no pod and need one."""
        busy = self.active + (self.terminating if job_pods.waits_for_failure(self.job) else [])
        over = self.succeeded_indexes | self.failed_indexes | self._indexes(busy)
        found: list[int] = []
        for index in range(self.completions or 0):
            if len(found) >= number:
                break
            if index not in over:
                found.append(index)
        return found

    def _indexes(self, pods: list[Object]) -> set[int]:
        found = (job_pods.index_of(pod, self.job) for pod in pods)
        return {index for index in found if index is not None}
