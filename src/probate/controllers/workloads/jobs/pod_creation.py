"""The pods of a Job: how many should be active, when a new one may be created after failures, and its content.

After each consecutive failure the next pod waits twice as long: 10 s, 20 s, 40 s, up to 10 minutes. With backoffLimitPerIndex each
index backs off on its own.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.runtime import remaining_time
from probate.controllers.workloads import deletion_order, pod_template
from probate.controllers.workloads.jobs import failure_policy, job_pods
from probate.controllers.workloads.jobs.job_pods import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
)
from probate.controllers.workloads.jobs.job_state import JobState
from probate.controllers.workloads.owner_kinds import JOB

FIRST_BACKOFF_SECONDS = 10.0
MAX_BACKOFF_SECONDS = 600.0
_NAME_LENGTH = 58  # of generateName
_VARIABLE = "JOB_COMPLETION_INDEX"


class FailureBackoff(NamedTuple):
    """Consecutive failures, and when the last one happened."""

    failures: int = 0
    last: float = 0.0

    def remaining(self, now: float) -> float:
        """Returns how long the next pod still has to wait."""
        if not self.failures:
            return 0.0
        return remaining_time.until(
            self.last + min(FIRST_BACKOFF_SECONDS * 2.0 ** min(self.failures - 1, 30), MAX_BACKOFF_SECONDS), now
        )

    def with_state(self, state: JobState) -> FailureBackoff:
        """Returns the backoff updated by the pods that have ended."""
        last_success = max((job_pods.finish_time(pod) for pod in state.new_succeeded), default=None)
        failure_times = [job_pods.finish_time(pod) for pod in state.new_failed]
        counted = [time for time in failure_times if last_success is None or time > last_success]
        if last_success is not None:
            return FailureBackoff(len(counted), max(counted, default=0.0))
        return FailureBackoff(self.failures + len(counted), max([self.last, *counted]))


def desired_active(state: JobState) -> int:
    """Returns how many pods should be active at once."""
    spec = state.job["spec"]
    if job_pods.is_suspended(state.job):
        return 0
    if state.completions is None:  # one success completes the Job: no further pods after it
        return len(state.active) if state.succeeded else int(spec["parallelism"])
    return max(0, min(state.completions - state.succeeded, int(spec["parallelism"])))


def surplus_pods(state: JobState, now: float) -> list[Object]:
    """Returns the active pods to delete. Useless pods are deleted in any case."""
    minimum = len(state.active) - desired_active(state)
    if not job_pods.is_indexed(state.job) and minimum <= 0:
        return []
    ordered = deletion_order.sort_for_deletion(state.active, state.active, now)
    useless = _useless_pods(state, ordered) if job_pods.is_indexed(state.job) else []
    useless_uids = set(map(job_pods.uid_of, useless))
    useful = [pod for pod in ordered if job_pods.uid_of(pod) not in useless_uids]
    return useless + useful[: max(0, minimum - len(useless))]


def _useless_pods(state: JobState, ordered: list[Object]) -> list[Object]:
    """Returns the pods whose index is out of range, has succeeded or failed, or belongs to another pod already."""
    used: set[int] = set()
    useless = []
    for pod in reversed(ordered):
        index = job_pods.index_of(pod, state.job)
        if index is None or index in used or index in state.succeeded_indexes or index in state.failed_indexes:
            useless.append(pod)
        else:
            used.add(index)
    return useless


def due_indexes(state: JobState, count: int, now: float) -> tuple[list[int], float | None]:
    """Returns the indexes that get a pod now, at most `count`, and in how many seconds the next index does."""
    remaining = {index: _wait_of_index(state.to_replace.get(index), now) for index in state.pending_indexes(count)}
    return [index for index, wait in remaining.items() if not wait], min(
        (wait for wait in remaining.values() if wait), default=None
    )


def _wait_of_index(failed: Object | None, now: float) -> float:
    if failed is None:
        return 0.0
    return FailureBackoff(sum(job_pods.index_failure_counts(failed)) + 1, job_pods.finish_time(failed)).remaining(now)


def new_pod(job: Object) -> Object:
    """Returns a pod of the Job, with the finalizer that holds it until it is counted. (JOB-1)"""
    pod = pod_template.pod_from_template(job["spec"]["template"], job, JOB)
    finalizers = pod["metadata"].get("finalizers") or []
    pod["metadata"]["finalizers"] = finalizers if TRACKING_FINALIZER in finalizers else [*finalizers, TRACKING_FINALIZER]
    return pod


def new_indexed_pod(state: JobState, index: int) -> Object:
    """Returns the pod of an index, which its name, hostname and environment identify."""
    job = state.job
    pod, name, suffix = new_pod(job), job["metadata"]["name"], f"-{index}-"
    meta = pod["metadata"]
    meta["generateName"] = name[: _NAME_LENGTH - len(suffix)] + suffix
    meta["labels"] = {**(meta.get("labels") or {}), COMPLETION_INDEX: str(index)}
    meta["annotations"] = {**(meta.get("annotations") or {}), COMPLETION_INDEX: str(index), **_failure_counts(state, index)}
    spec = {**pod["spec"], "hostname": f"{name}-{index}"}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_with_index(container) for container in spec[field]]
    return {"metadata": meta, "spec": spec}


def _with_index(container: Object) -> Object:
    environment = container.get("env") or []
    if any(variable["name"] == _VARIABLE for variable in environment):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*environment, {"name": _VARIABLE, "valueFrom": source}]}


def _failure_counts(state: JobState, index: int) -> dict[str, str]:
    if job_pods.backoff_limit_per_index(state.job) is None:
        return {}
    failed = state.to_replace.get(index)
    if failed is None:
        return {INDEX_FAILURE_COUNT: "0"}
    count, ignored = job_pods.index_failure_counts(failed)
    if failure_policy.is_ignored(state.job, failed):
        return {INDEX_FAILURE_COUNT: str(count), INDEX_IGNORED_FAILURE_COUNT: str(ignored + 1)}
    return {INDEX_FAILURE_COUNT: str(count + 1), **({INDEX_IGNORED_FAILURE_COUNT: str(ignored)} if ignored else {})}
