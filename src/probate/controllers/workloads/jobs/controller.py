"""The Job controller: each sync creates or deletes pods, then records the result of the pods that have ended.

For a Job that is being deleted it creates and deletes no more pods; it only removes the tracking finalizer from the existing pods,
so that the garbage collector can delete them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName
from probate.client.objects import is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors, pod_template, slow_start
from probate.controllers.workloads.adoption import ControllerRefManager
from probate.controllers.workloads.jobs import completion, finished_pod_tracker, job_pods, pod_creation
from probate.controllers.workloads.jobs.completion import JobOutcome
from probate.controllers.workloads.jobs.finished_pod_tracker import FinishedPodTracker
from probate.controllers.workloads.jobs.job_pods import uid_of
from probate.controllers.workloads.jobs.job_state import JobState
from probate.controllers.workloads.jobs.orphan_pods import OrphanPodController, remove_tracking_finalizer
from probate.controllers.workloads.jobs.pod_creation import FailureBackoff
from probate.controllers.workloads.owner_kinds import JOB, PODS, namespace_of
from probate.controllers.workloads.owner_lookup import OwnerEnqueuer
from probate.core import errors

COMPONENT = "job-controller"
SUSPENDED = "Suspended"


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [JobController(context).workers, OrphanPodController(context).workers]


class PodChangesResult(NamedTuple):
    """The result of creating and deleting pods: in how many seconds more pods are due, and the errors."""

    requeue_after: float | None = None
    failures: tuple[errors.ApiError, ...] = ()


class JobController:
    """Reconciles Jobs with their pods."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._record_event = JOB.event_recorder(context.events, COMPONENT)
        self._pods = context.informers.for_resource(PODS)
        self._jobs = context.informers.for_resource(JOB.resource)
        self._ref_manager = ControllerRefManager(JOB, context.client, self._pods, finalizer=job_pods.TRACKING_FINALIZER)
        self._backoffs: dict[str, FailureBackoff] = {}  # by the Job's uid; only of Jobs with recent failures
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        self._jobs.add_event_handler(self._on_job_change)
        OwnerEnqueuer(JOB, self._jobs, owner_selectors.label_selector, enqueue=self.workers.add).listen(self._pods)

    def _on_job_change(self, old: Object | None, job: Object | None) -> None:
        if old is not None and (job is None or job_pods.is_finished(job)):
            self._backoffs.pop(uid_of(old), None)

    async def _sync(self, name: NamespacedName) -> float | None:
        job = self._jobs.get(name)
        if job is None or not job_pods.is_managed(job) or job_pods.is_finished(job):
            return None
        is_match = functools.partial(owner_selectors.matches, owner_selectors.label_selector(job))
        claimed = await self._ref_manager.claim(job, self._ref_manager.candidates(job), is_match)
        state = JobState(job, claimed)
        outcome = completion.decide_outcome(state, self._clock.now())
        result = await self._manage_pods(state, outcome)
        state = JobState(job, [pod for pod in self._pods.controlled_by(uid_of(job)) if is_match(pod)])
        updated = await self._record_finished_pods(state, outcome or completion.completions_reached(state, len(state.active)))
        if result.failures:
            raise ExceptionGroup(f"pods of {name} could not be created or deleted", result.failures)
        waits = [result.requeue_after, None if outcome else completion.seconds_until_deadline(updated, self._clock.now())]
        return min((wait for wait in waits if wait is not None), default=None)

    async def _manage_pods(self, state: JobState, outcome: JobOutcome | None) -> PodChangesResult:
        """Creates the missing pods, or deletes the surplus ones."""
        job = state.job
        if is_deleting(job):
            return PodChangesResult()
        if outcome is not None:
            return PodChangesResult(failures=tuple(await for_each(state.active, functools.partial(self._delete_pod, job))))
        surplus = pod_creation.surplus_pods(state, self._clock.now())[: slow_start.BURST_REPLICAS]
        if surplus:
            failures = await for_each(surplus, functools.partial(self._delete_uncounted_pod, job))
            return PodChangesResult(
                requeue_after=0.0 if len(surplus) == slow_start.BURST_REPLICAS else None, failures=tuple(failures)
            )
        missing = pod_creation.desired_active(state) - len(state.active)
        if job_pods.replaces_only_finished(job):
            missing -= len(state.terminating)
        return await self._create_pods(state, min(missing, slow_start.BURST_REPLICAS)) if missing > 0 else PodChangesResult()

    async def _create_pods(self, state: JobState, missing: int) -> PodChangesResult:
        job, now = state.job, self._clock.now()
        requeue_after: float | None = None
        if job_pods.backoff_limit_per_index(job) is None:
            backoff = self._backoffs.get(uid_of(job), FailureBackoff()).with_state(state).remaining(now)
            if backoff:
                return PodChangesResult(backoff)
        if job_pods.is_indexed(job):
            indexes, requeue_after = pod_creation.due_indexes(state, missing, now)
            new_pods = [pod_creation.new_indexed_pod(state, index) for index in indexes]
        else:
            new_pods = [pod_creation.new_pod(job)] * missing
        result = await slow_start.slow_start_batch(new_pods, functools.partial(self._create, job))
        if missing == slow_start.BURST_REPLICAS:
            requeue_after = 0.0
        return PodChangesResult(requeue_after, tuple(error for error in result.failures if not is_terminating(error)))

    async def _create(self, job: Object, pod: Object) -> None:
        try:
            created = await self._pods.create(namespace_of(job), pod)
        except errors.ApiError as error:
            self._record_event(job, "Warning", "FailedCreate", message=f"Error creating: {error}")
            raise
        self._record_event(job, "Normal", "SuccessfulCreate", message=f"Created pod: {created['metadata']['name']}")

    async def _delete_pod(self, job: Object, pod: Object) -> None:
        """Deletes a pod that is still to be counted. (JOB-9)"""
        await self._pods.delete(pod)
        self._record_event(job, "Normal", "SuccessfulDelete", message=f"Deleted pod: {pod['metadata']['name']}")

    async def _delete_uncounted_pod(self, job: Object, pod: Object) -> None:
        """Deletes a surplus pod, which is not counted: it has not failed."""
        await remove_tracking_finalizer(self._pods, pod)
        await self._delete_pod(job, pod)

    async def _record_finished_pods(self, state: JobState, outcome: JobOutcome | None) -> Object:
        """Records which pods have ended, removes their finalizer, and then records the counts. Returns the updated Job."""
        job, now, tracker = state.job, self._clock.now(), FinishedPodTracker(state)
        tracker.count_released(self._tracked_uids(state))
        listed = tracker.list_finished(outcome)
        job_conditions = finished_pod_tracker.with_target_condition(self._with_suspension(job, outcome), outcome, format_time(now))
        job = await self._write_status(job, state, tracker, job_conditions=job_conditions)
        failure_backoff = self._backoffs.get(uid_of(job), FailureBackoff()).with_state(state)
        if failure_backoff.failures:
            self._backoffs[uid_of(job)] = failure_backoff
        else:
            self._backoffs.pop(uid_of(job), None)
        failures = await for_each(listed.pods, functools.partial(remove_tracking_finalizer, self._pods))
        tracker.count_released(self._tracked_uids(state))
        remaining_state = JobState(job, self._pods.controlled_by(uid_of(job)))
        if outcome is not None and listed.is_complete and tracker.has_no_uncounted and not remaining_state.terminating:
            job_conditions = finished_pod_tracker.with_finished_condition(job_conditions, outcome, format_time(now))
        job = await self._write_status(job, remaining_state, tracker, job_conditions=job_conditions)
        if job_pods.is_finished(job) and outcome is not None:
            self._record_end(job, outcome)
        if failures:
            raise ExceptionGroup(f"pods of {job['metadata']['name']} could not be released", failures)
        return job

    def _tracked_uids(self, state: JobState) -> set[str]:
        """Returns the uids of the pods that have the finalizer now."""
        return {uid_of(pod) for pod in self._pods.controlled_by(uid_of(state.job)) if job_pods.has_tracking_finalizer(pod)}

    def _with_suspension(self, job: Object, outcome: JobOutcome | None) -> list[Object]:
        job_conditions, now = job_pods.conditions_of(job), format_time(self._clock.now())
        was_suspended = conditions.is_true(job_conditions, SUSPENDED)
        if outcome is not None or is_deleting(job) or job_pods.is_suspended(job) == was_suspended:
            return job_conditions
        status, reason, message = (
            ("False", "JobResumed", "Job resumed") if was_suspended else ("True", "JobSuspended", "Job suspended")
        )
        self._record_event(job, "Normal", "Resumed" if was_suspended else SUSPENDED, message=message)
        return conditions.replace(
            job_conditions, conditions.new_condition(SUSPENDED, status, reason=reason, message=message), now, "lastProbeTime"
        )

    async def _write_status(
        self, job: Object, state: JobState, tracker: FinishedPodTracker, *, job_conditions: list[Object]
    ) -> Object:
        """Writes the status if it has changed."""
        before, now = job.get("status") or {}, format_time(self._clock.now())
        is_suspended = conditions.is_true(job_conditions, SUSPENDED) and not completion.is_decided(job_conditions)
        start_time = "" if is_suspended else before.get("startTime") or now
        status = {
            **({"conditions": job_conditions} if job_conditions else {}),
            **({"startTime": start_time} if start_time else {}),
            **({"completionTime": now} if conditions.is_true(job_conditions, "Complete") else {}),
            **({"active": len(state.active)} if state.active else {}),
            "ready": sum(pod_template.is_ready(pod) for pod in state.active),
            "terminating": len(state.terminating),
            **tracker.to_status(),
        }
        return job if status == before else await self._jobs.update({**job, "status": status}, "status")

    def _record_end(self, job: Object, outcome: JobOutcome) -> None:
        if outcome.is_success:
            self._record_event(job, "Normal", "Completed", message="Job completed")
        else:
            self._record_event(job, "Warning", outcome.reason, message=outcome.message)
