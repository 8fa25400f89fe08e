"""Pods that wait to be counted by a Job that will not count them any more: it is gone, it is over, or it is not theirs.

They are let go, or nothing would ever delete them. (JOB-11 to JOB-13)
"""

from __future__ import annotations

from probate.client.informers import Informer, Name, controller_of, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.jobs import job_pods
from probate.controllers.workloads.owner_kinds import JOB, PODS, namespace_of
from probate.core import errors

RECHECK_SECONDS = 5.0
"""When to look again whether a Job whose stored data is damaged was removed: nobody who never read it is told of its removal."""


class Orphans:
    """Looks for such pods, and takes the finalizer off them."""

    def __init__(self, means: Means) -> None:
        self._jobs = means.informers.of(JOB.resource)
        self._pods = means.informers.of(PODS)
        self.workers = Workers("job-controller: orphans", self._sync, means.clock)
        self._pods.listen(self._take_pod)
        self._jobs.listen(self._take_job)

    def _take_pod(self, _: Object | None, pod: Object | None) -> None:
        if pod is not None and job_pods.is_tracked(pod) and (controller_of(pod) is None or is_deleting(pod)):
            self.workers.add(name_of(pod))

    def _take_job(self, old: Object | None, job: Object | None) -> None:
        """A job that is gone, or is over, leaves its pods behind: those that it controls, and those that it would."""
        gone = old if job is None else job if job_pods.is_finished(job) else None
        if gone is None:
            return
        selector = owner_selectors.of_expressions(gone)
        orphans = [pod for pod in self._pods.uncontrolled(namespace_of(gone)) if owner_selectors.matches(selector, pod)]
        for pod in [*self._pods.controlled_by(job_pods.uid_of(gone)), *orphans]:
            if job_pods.is_tracked(pod):
                self.workers.add(name_of(pod))

    async def _sync(self, name: Name) -> float | None:
        pod = self._pods.get(name)
        if pod is None or not job_pods.is_tracked(pod):
            return None
        if self._has_damaged_job(pod):
            return RECHECK_SECONDS
        if not self._is_awaited(pod):
            await free(self._pods, pod)
        return None

    def _has_damaged_job(self, pod: Object) -> bool:
        """Whether it names a Job that nobody can read: that one is not gone."""
        reference = controller_of(pod)
        if reference is None or not _is_job(reference):
            return False
        name = Name(namespace_of(pod), reference["name"])
        return self._jobs.get(name) is None and self._jobs.may_be_there(name)

    def _is_awaited(self, pod: Object) -> bool:
        """Whether somebody will count the pod, or may: then it is not ours to free. (JOB-12)"""
        reference = controller_of(pod)
        if reference is None:
            return False
        if not _is_job(reference):
            return True
        job = JOB.find(self._jobs, namespace_of(pod), reference)
        return job is not None and not (job_pods.is_ours(job) and job_pods.is_finished(job))


def _is_job(reference: Object) -> bool:
    return (reference["apiVersion"], reference["kind"]) == (JOB.resource.api_version, JOB.name)


async def free(pods: Informer, pod: Object) -> None:
    """Take the finalizer off the pod, which may be gone with that. One that is gone already needs nothing. (JOB-6)"""
    try:
        change = {"metadata": {"$deleteFromPrimitiveList/finalizers": [job_pods.TRACKING]}}
        await pods.patch(name_of(pod), change, media=STRATEGIC_MERGE_PATCH)
    except errors.NotFound:
        return
