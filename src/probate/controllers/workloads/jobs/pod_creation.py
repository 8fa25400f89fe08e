"""The pods of a Job: how many there are to be, when a new one may come after failures, and what it is.

After each failure in a row the next pod waits twice as long: 10 s, 20 s, 40 s, up to 10 minutes. Where each index has a limit of
its own, each waits by itself.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.controllers.runtime import durations
from probate.controllers.workloads import deletion_order, pod_template
from probate.controllers.workloads.jobs import failure_policy, job_pods
from probate.controllers.workloads.jobs.job_pods import FAILURES, IGNORED_FAILURES, INDEX, TRACKING
from probate.controllers.workloads.jobs.tally import Tally
from probate.controllers.workloads.owner_kinds import JOB

FIRST_WAIT = 10.0
LONGEST_WAIT = 600.0
_NAME_LENGTH = 58  # of what generated names begin with
_VARIABLE = "JOB_COMPLETION_INDEX"


class Failures(NamedTuple):
    """Failures in a row, and when the last one was."""

    number: int = 0
    last: float = 0.0

    def waits(self, now: float) -> float:
        """How long the next pod has to wait still."""
        if not self.number:
            return 0.0
        return durations.until(self.last + min(FIRST_WAIT * 2.0 ** min(self.number - 1, 30), LONGEST_WAIT), now)

    def after(self, tally: Tally) -> Failures:
        """The failures in a row after those pods that have ended now."""
        since = max((job_pods.ended_at(pod) for pod in tally.new_succeeded), default=None)
        ends = [job_pods.ended_at(pod) for pod in tally.new_failed]
        counted = [end for end in ends if since is None or end > since]
        if since is not None:
            return Failures(len(counted), max(counted, default=0.0))
        return Failures(self.number + len(counted), max([self.last, *counted]))


def wanted_active(tally: Tally) -> int:
    """How many pods are to be active at once."""
    spec = tally.job["spec"]
    if job_pods.is_suspended(tally.job):
        return 0
    if tally.completions is None:  # any success ends it: from then on those that are there are enough
        return len(tally.active) if tally.succeeded else int(spec["parallelism"])
    return max(0, min(tally.completions - tally.succeeded, int(spec["parallelism"])))


def surplus(tally: Tally, now: float) -> list[Object]:
    """The active pods that have to go. Those that are of no use go anyway."""
    least = len(tally.active) - wanted_active(tally)
    if not job_pods.is_indexed(tally.job) and least <= 0:
        return []
    order = deletion_order.in_order(tally.active, tally.active, now)
    useless = _useless(tally, order) if job_pods.is_indexed(tally.job) else []
    dropped = set(map(job_pods.uid_of, useless))
    others = [pod for pod in order if job_pods.uid_of(pod) not in dropped]
    return useless + others[: max(0, least - len(useless))]


def _useless(tally: Tally, order: list[Object]) -> list[Object]:
    """Pods whose index is not wanted, has succeeded, or is another's already."""
    taken: set[int] = set()
    found = []
    for pod in reversed(order):
        index = job_pods.index_of(pod, tally.job)
        if index is None or index in taken or index in tally.succeeded_indexes or index in tally.failed_indexes:
            found.append(pod)
        else:
            taken.add(index)
    return found


def due(tally: Tally, number: int, now: float) -> tuple[list[int], float | None]:
    """The indexes that get a pod now, `number` of them at most, and in how many seconds the next of them does."""
    waits = {index: _wait_of_index(tally.to_replace.get(index), now) for index in tally.pending_indexes(number)}
    return [index for index, wait in waits.items() if not wait], min((wait for wait in waits.values() if wait), default=None)


def _wait_of_index(failed: Object | None, now: float) -> float:
    if failed is None:
        return 0.0
    return Failures(sum(job_pods.failures_before(failed)) + 1, job_pods.ended_at(failed)).waits(now)


def new_pod(job: Object) -> Object:
    """A pod of the job, which stays until it is counted. (JOB-1)"""
    pod = pod_template.from_template(job["spec"]["template"], job, JOB)
    held = pod["metadata"].get("finalizers") or []
    pod["metadata"]["finalizers"] = held if TRACKING in held else [*held, TRACKING]
    return pod


def new_indexed_pod(tally: Tally, index: int) -> Object:
    """The pod for one index: its name, its host's name and its environment say which."""
    job = tally.job
    pod, name, suffix = new_pod(job), job["metadata"]["name"], f"-{index}-"
    meta = pod["metadata"]
    meta["generateName"] = name[: _NAME_LENGTH - len(suffix)] + suffix
    meta["labels"] = {**(meta.get("labels") or {}), INDEX: str(index)}
    meta["annotations"] = {**(meta.get("annotations") or {}), INDEX: str(index), **_failure_counts(tally, index)}
    spec = {**pod["spec"], "hostname": f"{name}-{index}"}
    for list_ in ("containers", "initContainers"):
        if spec.get(list_):
            spec[list_] = [_with_index(container) for container in spec[list_]]
    return {"metadata": meta, "spec": spec}


def _with_index(container: Object) -> Object:
    known = container.get("env") or []
    if any(one["name"] == _VARIABLE for one in known):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*known, {"name": _VARIABLE, "valueFrom": source}]}


def _failure_counts(tally: Tally, index: int) -> dict[str, str]:
    if job_pods.limit_per_index(tally.job) is None:
        return {}
    failed = tally.to_replace.get(index)
    if failed is None:
        return {FAILURES: "0"}
    count, ignored = job_pods.failures_before(failed)
    if failure_policy.is_ignored(tally.job, failed):
        return {FAILURES: str(count), IGNORED_FAILURES: str(ignored + 1)}
    return {FAILURES: str(count + 1), **({IGNORED_FAILURES: str(ignored)} if ignored else {})}
