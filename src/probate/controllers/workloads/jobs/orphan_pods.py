"""Removes the tracking finalizer of pods that no Job will count: the Job is gone, is finished, or does not own the pod.

Without this, nothing would ever delete those pods. (JOB-11 to JOB-13)
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, controller_of, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.jobs import job_pods
from probate.controllers.workloads.owner_kinds import JOB, PODS, namespace_of
from probate.core import errors

RECHECK_SECONDS = 5.0
"""When to check again whether a Job whose stored data is damaged was deleted: an informer that never read the Job gets no event
for its deletion.
"""


class OrphanPodController:
    """Finds pods that no Job will count, and removes their tracking finalizer."""

    def __init__(self, context: Context) -> None:
        self._jobs = context.informers.for_resource(JOB.resource)
        self._pods = context.informers.for_resource(PODS)
        self.workers = Workers("job-controller: orphans", self._sync, context.clock)
        self._pods.add_event_handler(self._on_pod_change)
        self._jobs.add_event_handler(self._on_job_change)

    def _on_pod_change(self, _: Object | None, pod: Object | None) -> None:
        if pod is not None and job_pods.has_tracking_finalizer(pod) and (controller_of(pod) is None or is_deleting(pod)):
            self.workers.add(name_of(pod))

    def _on_job_change(self, old: Object | None, job: Object | None) -> None:
        """Enqueues the pods that a deleted or finished Job leaves behind: those that it controls, and orphans that match its
        selector.
        """
        ended_job = old if job is None else job if job_pods.is_finished(job) else None
        if ended_job is None:
            return
        selector = owner_selectors.label_selector(ended_job)
        orphans = [pod for pod in self._pods.without_controller(namespace_of(ended_job)) if owner_selectors.matches(selector, pod)]
        for pod in [*self._pods.controlled_by(job_pods.uid_of(ended_job)), *orphans]:
            if job_pods.has_tracking_finalizer(pod):
                self.workers.add(name_of(pod))

    async def _sync(self, name: NamespacedName) -> float | None:
        pod = self._pods.get(name)
        if pod is None or not job_pods.has_tracking_finalizer(pod):
            return None
        if self._has_damaged_job(pod):
            return RECHECK_SECONDS
        if not self._may_be_counted(pod):
            await remove_tracking_finalizer(self._pods, pod)
        return None

    def _has_damaged_job(self, pod: Object) -> bool:
        """Returns whether the pod names a Job that cannot be decoded: that Job still exists."""
        reference = controller_of(pod)
        if reference is None or not _is_job(reference):
            return False
        name = NamespacedName(namespace_of(pod), reference["name"])
        return self._jobs.get(name) is None and self._jobs.may_exist(name)

    def _may_be_counted(self, pod: Object) -> bool:
        """Returns whether a controller will, or may, count the pod: then its finalizer stays. (JOB-12)"""
        reference = controller_of(pod)
        if reference is None:
            return False
        if not _is_job(reference):
            return True
        job = JOB.find(self._jobs, namespace_of(pod), reference)
        return job is not None and not (job_pods.is_managed(job) and job_pods.is_finished(job))


def _is_job(reference: Object) -> bool:
    return (reference["apiVersion"], reference["kind"]) == (JOB.resource.api_version, JOB.name)


async def remove_tracking_finalizer(pods: Informer, pod: Object) -> None:
    """Removes the finalizer, which may complete the pod's deletion. A pod that is gone already needs nothing. (JOB-6)"""
    try:
        change = {"metadata": {"$deleteFromPrimitiveList/finalizers": [job_pods.TRACKING_FINALIZER]}}
        await pods.patch(name_of(pod), change, media=STRATEGIC_MERGE_PATCH)
    except errors.NotFound:
        return
