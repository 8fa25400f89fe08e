"""How the end of each pod gets into a Job's status, exactly once. (JOB-4)

    1. the uid of a pod that has ended is written into the status
    2. the pod's finalizer is taken off
    3. uids whose pods hold no finalizer any more are counted, and the count is written

Whoever is interrupted goes on from what is written. An index that succeeded needs no uid: writing it twice is no mistake.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.workloads.jobs import completed_indexes, failure_policy, job_pods
from probate.controllers.workloads.jobs.completion import Ending
from probate.controllers.workloads.jobs.job_pods import uid_of
from probate.controllers.workloads.jobs.tally import Tally
from probate.controllers.workloads.pod_template import phase

MOST = 500
"""Pods that are about to be counted at once. (JOB-5)"""


class Ended(NamedTuple):
    """Pods whose end is, or is about to be, written down: they can be freed then. `is_all`: no more could be."""

    pods: list[Object]
    is_all: bool


class Account:
    """The part of a job's status that counts pods."""

    def __init__(self, tally: Tally) -> None:
        status = tally.job.get("status") or {}
        listed = status.get("uncountedTerminatedPods") or {}
        self._tally = tally
        self._succeeded: int = status.get("succeeded") or 0
        self._failed: int = status.get("failed") or 0
        self._listed: dict[str, list[str]] = {name: list(listed.get(name) or ()) for name in ("succeeded", "failed")}
        self._indexes = {name: status.get(name) for name in ("completedIndexes", "failedIndexes")}

    @property
    def is_settled(self) -> bool:
        """Whether nothing is about to be counted."""
        return not any(self._listed.values())

    def enter(self, ending: Ending | None) -> Ended:
        """List the pods that have ended."""
        job, room = self._tally.job, MOST - sum(map(len, self._listed.values()))
        kept = set(map(uid_of, self._tally.to_replace.values()))
        waiting = [pod for pod in self._tally.pods if job_pods.is_tracked(pod) and self._may_be_freed(pod, ending, kept)]
        waiting.sort(key=lambda pod: (job_pods.index_of(pod, job) or 0, uid_of(pod)))
        done: set[int] = set()
        for number, pod in enumerate(waiting):
            if room <= 0:
                self._enter_indexes(done)
                return Ended(waiting[:number], is_all=False)
            room -= self._enter(pod, ending, done)
        self._enter_indexes(done)
        return Ended(waiting, is_all=True)

    def settle(self, held: set[str]) -> None:
        """Count those whose pods are not held any more."""
        done = {name: [uid for uid in uids if uid not in held] for name, uids in self._listed.items()}
        self._listed = {name: [uid for uid in uids if uid in held] for name, uids in self._listed.items()}
        self._succeeded += len(done["succeeded"])
        self._failed += len(done["failed"])

    def fields(self) -> Object:
        """What the status says of this."""
        counts = {"succeeded": self._succeeded, "failed": self._failed}
        return {
            **{name: count for name, count in counts.items() if count},
            **{name: text for name, text in self._indexes.items() if text is not None},
            "uncountedTerminatedPods": {name: uids for name, uids in self._listed.items() if uids},
        }

    def _may_be_freed(self, pod: Object, ending: Ending | None, kept: set[str]) -> bool:
        """Whether nothing more is to be learnt from the pod. (JOB-2)"""
        if is_deleting(self._tally.job) or ending is not None or phase(pod) == "Succeeded":
            return True
        return job_pods.is_failed(pod, self._tally.job) and uid_of(pod) not in kept

    def _enter(self, pod: Object, ending: Ending | None, done: set[int]) -> int:
        """List one pod, if its end counts. Returns how much room that takes."""
        job, uid, index = self._tally.job, uid_of(pod), job_pods.index_of(pod, self._tally.job)
        if phase(pod) == "Succeeded" and uid not in self._listed["failed"]:
            if not job_pods.is_indexed(job):
                return self._list("succeeded", uid)
            done |= {index} if index is not None else set()
            return 1
        is_lost = job_pods.is_failed(pod, job) or (ending is not None and not ending.is_success)
        is_counted = (index is not None or not job_pods.is_indexed(job)) and not failure_policy.is_ignored(job, pod)
        return self._list("failed", uid) if is_lost and is_counted else 0

    def _list(self, name: str, uid: str) -> int:
        """List a pod once: one whose phase changes after it was listed counts as what it was then."""
        if any(uid in uids for uids in self._listed.values()):
            return 0
        self._listed[name].append(uid)
        return 1

    def _enter_indexes(self, done: set[int]) -> None:
        job = self._tally.job
        if not job_pods.is_indexed(job):
            return
        known = completed_indexes.read(self._indexes["completedIndexes"], self._tally.completions or 0) | done
        self._succeeded = len(known)
        self._indexes["completedIndexes"] = completed_indexes.spelt(known) or None
        if job_pods.limit_per_index(job) is not None:
            self._indexes["failedIndexes"] = completed_indexes.spelt(self._tally.failed_indexes)


def with_ending(told: list[Object], ending: Ending | None, now: str) -> list[Object]:
    """The conditions, with what has been decided."""
    return told if ending is None else _put(told, ending.interim(), now)


def with_end(told: list[Object], ending: Ending, now: str) -> list[Object]:
    """The conditions, with that it is over."""
    return _put(told, ending.final(), now)


def _put(told: list[Object], condition: Object, now: str) -> list[Object]:
    return conditions.put(told, condition, now, "lastProbeTime")
