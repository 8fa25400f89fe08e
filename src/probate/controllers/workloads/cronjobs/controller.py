"""The CronJob controller. Each sync deletes finished Jobs beyond the history limits, updates the list of active Jobs, creates a Job
if one is due, and requeues the CronJob for its next scheduled time.

A CronJob that is being deleted creates no Jobs, but still deletes finished ones and updates its status. (CJ-10)
"""

from __future__ import annotations

from datetime import datetime

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import Informer, NamespacedName, controller_of, name_of
from probate.client.objects import Client, is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime import remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads.cronjobs import job_history, job_template, schedule
from probate.controllers.workloads.cronjobs.schedule import ScheduleTimes
from probate.controllers.workloads.owner_kinds import CRON_JOB, JOB, namespace_of
from probate.core import errors
from probate.lib import cron
from probate.lib.cron import BadSchedule

COMPONENT = "cronjob-controller"
SKEW_BUCKETS = tuple(float(2**power) for power in range(10))
MAX_SHOWN_LENGTH = 200
MAX_REQUEUE_SECONDS = 3600.0
"""The longest time between two syncs, even if no Job is due earlier, so that the controller notices a clock change."""


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [CronJobController(context).workers]


class CronJobStatus:
    """The status that this sync writes."""

    def __init__(self, cron_job: Object) -> None:
        self._before = cron_job.get("status") or {}
        self.active: list[Object] = list(self._before.get("active") or [])
        self.last_scheduled: str | None = self._before.get("lastScheduleTime")
        self.last_success: str | None = self._before.get("lastSuccessfulTime")

    def remove(self, uid: str) -> None:
        self.active = [job for job in self.active if job["uid"] != uid]

    def to_object(self) -> Object:
        fields = {"active": self.active, "lastScheduleTime": self.last_scheduled, "lastSuccessfulTime": self.last_success}
        return {name: value for name, value in fields.items() if value}

    @property
    def is_changed(self) -> bool:
        return self.to_object() != self._before


class CronJobController:
    """Reconciles CronJobs with their Jobs."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._record_event = CRON_JOB.event_recorder(context.events, COMPONENT)
        self._client: Client = context.client
        self._jobs: Informer = context.informers.for_resource(JOB.resource)
        self._cron_jobs: Informer = context.informers.for_resource(CRON_JOB.resource)
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        help_text = "How late Jobs were started."
        self._skew = context.metrics.histogram(
            "cronjob_controller_job_creation_skew_duration_seconds", help_text, bounds=SKEW_BUCKETS
        )
        self._cron_jobs.add_event_handler(self._on_cron_job_change)
        self._jobs.add_event_handler(self._on_job_change)

    def _on_cron_job_change(self, old: Object | None, new: Object | None) -> None:
        cron_job = new or old
        if cron_job is not None:
            self.workers.add(name_of(cron_job))

    def _on_job_change(self, old: Object | None, new: Object | None) -> None:
        for job in (old, new):
            reference = controller_of(job) if job is not None else None
            if job is None or reference is None:
                continue
            owner = CRON_JOB.find(self._cron_jobs, namespace_of(job), reference)
            if owner is not None:
                self.workers.add(name_of(owner))

    async def _sync(self, name: NamespacedName) -> float | None:
        cron_job = self._cron_jobs.get(name)
        if cron_job is None:
            return None
        status = CronJobStatus(cron_job)
        failures = await self._delete_old_jobs(cron_job, status)
        await self._update_active_jobs(cron_job, status)
        times = self._schedule_times(cron_job)
        failure: errors.ApiError | None = None
        if times is not None and times.due is not None:
            try:
                await self._start_job(cron_job, status, times.due, has_many_missed=times.has_many_missed)
            except errors.ApiError as error:
                failure = error
        if status.is_changed:
            await self._cron_jobs.update({**cron_job, "status": status.to_object()}, "status")
        if failure is not None or failures:
            raise ExceptionGroup(f"jobs of {name} could not be created or deleted", [*failures, *([failure] if failure else [])])
        if times is None or times.next is None:
            return None
        return min(remaining_time.until(times.next.timestamp(), self._clock.now()), MAX_REQUEUE_SECONDS)

    async def _delete_old_jobs(self, cron_job: Object, status: CronJobStatus) -> list[errors.ApiError]:
        """Deletes finished Jobs beyond the limits, before anything else so that they make room for new ones. Returns the errors.
        (CJ-2, CJ-3)
        """
        to_delete = job_history.jobs_to_delete(cron_job, self._jobs.controlled_by(cron_job["metadata"]["uid"]))
        results = [await self._delete(cron_job, status, job) for job in to_delete if not is_deleting(job)]
        return [error for error in results if error is not None]

    async def _delete(self, cron_job: Object, status: CronJobStatus, job: Object) -> errors.ApiError | None:
        """Deletes the Job. A failure does not stop the sync. Returns the error, or None. (CJ-6, CJ-8)"""
        name = job["metadata"]["name"]
        try:
            await self._jobs.delete(job, policy="Background")
        except errors.ApiError as error:
            self._record_event(cron_job, "Warning", "FailedDelete", message=f"Job {name} could not be deleted: {error}")
            return error
        status.remove(job["metadata"]["uid"])
        self._record_event(cron_job, "Normal", "SuccessfulDelete", message=f"Deleted job {name}")
        return None

    async def _update_active_jobs(self, cron_job: Object, status: CronJobStatus) -> None:
        """Updates the list of active Jobs and the time of the last success. (CJ-9)"""
        owned = {job["metadata"]["uid"]: job for job in self._jobs.controlled_by(cron_job["metadata"]["uid"])}
        active = {reference["uid"]: reference for reference in status.active}
        for uid, job in owned.items():
            finished, name = job_history.finished_type(job), job["metadata"]["name"]
            if finished and uid in active:
                status.remove(uid)
                self._record_event(
                    cron_job, "Normal", "SawCompletedJob", message=f"Saw completed job: {name}, condition: {finished}"
                )
            elif not finished and uid not in active and not is_deleting(job):
                message = f"Saw a job that the controller did not create or forgot: {name}"
                self._record_event(cron_job, "Warning", "UnexpectedJob", message=message)
        for uid, reference in active.items():
            if uid not in owned and not await self._job_exists(reference, uid):
                status.remove(uid)
                self._record_event(cron_job, "Normal", "MissingJob", message=f"Active job went missing: {reference['name']}")
        status.last_success = job_history.last_successful_time(status.last_success, owned.values())

    async def _job_exists(self, reference: Object, uid: str) -> bool:
        job = await self._client.get(JOB.resource, reference["namespace"], reference["name"])
        return job is not None and job["metadata"]["uid"] == uid

    def _schedule_times(self, cron_job: Object) -> ScheduleTimes | None:
        """Returns the due times, or None if nothing will be due while the CronJob stays unchanged."""
        spec = cron_job["spec"]
        if is_deleting(cron_job):
            return None
        try:
            schedule.time_zone(cron_job)
        except BadSchedule as error:
            self._record_event(
                cron_job, "Warning", "UnknownTimeZone", message=f'invalid timeZone: "{_truncate(spec["timeZone"])}": {error}'
            )
            return None
        if spec.get("suspend"):
            return None
        try:
            times = schedule.schedule_times(cron_job, self._clock.now())
        except BadSchedule as error:
            self._record_event(
                cron_job,
                "Warning",
                "UnparseableSchedule",
                message=f'unparseable schedule: "{_truncate(spec["schedule"])}" : {error}',
            )
            return None
        if cron.has_zone(spec["schedule"]):
            message = f'the schedule "{_truncate(spec["schedule"])}" names a time zone: use spec.timeZone instead'
            self._record_event(cron_job, "Warning", "UnsupportedSchedule", message=message)
        return times

    async def _start_job(self, cron_job: Object, status: CronJobStatus, due: datetime, *, has_many_missed: bool) -> None:
        policy = cron_job["spec"].get("concurrencyPolicy")
        if has_many_missed:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._record_event(cron_job, "Warning", "TooManyMissedTimes", message=message)
        if policy == "Forbid" and status.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._record_event(cron_job, "Normal", "JobAlreadyActive", message=message)
            return
        if policy == "Replace":
            for reference in status.active:
                job = self._jobs.get(NamespacedName(reference["namespace"], reference["name"]))
                if job is None or job["metadata"]["uid"] != reference["uid"]:
                    continue
                failure = await self._delete(cron_job, status, job)
                if failure is not None:
                    raise failure
        created = await self._create(cron_job, due)
        if created is not None:
            status.active = [
                *(reference for reference in status.active if reference["uid"] != created["metadata"]["uid"]),
                job_template.job_reference(created),
            ]
        status.last_scheduled = format_time(due.timestamp())

    async def _create(self, cron_job: Object, due: datetime) -> Object | None:
        """Returns the Job for that time, created now or earlier, or None if it is finished already."""
        try:
            created = await self._jobs.create(namespace_of(cron_job), job_template.new_job(cron_job, due))
        except errors.AlreadyExists:
            return await self._existing_job(cron_job, due)
        except errors.ApiError as error:
            if not is_terminating(error):
                self._record_event(cron_job, "Warning", "FailedCreate", message=f"Error creating job: {error}")
            raise
        self._skew.observe((), max(0.0, self._clock.now() - due.timestamp()))
        self._record_event(cron_job, "Normal", "SuccessfulCreate", message=f"Created job {created['metadata']['name']}")
        return created

    async def _existing_job(self, cron_job: Object, due: datetime) -> Object | None:
        """Returns the existing Job of that name if it is active and owned by this CronJob: it was created before the status
        could be written. Otherwise returns None, and reports a Job of another owner.
        """
        existing = await self._client.get(JOB.resource, namespace_of(cron_job), job_template.job_name(cron_job, due))
        if existing is None:
            raise errors.Conflict(f"job {job_template.job_name(cron_job, due)} is being deleted")
        if (controller_of(existing) or {}).get("uid") != cron_job["metadata"]["uid"]:
            message = f"Error creating job: {job_template.job_name(cron_job, due)} already exists and belongs to another owner"
            self._record_event(cron_job, "Warning", "FailedCreate", message=message)
            return None
        return None if job_history.finished_type(existing) else existing


def _truncate(text: str) -> str:
    """Returns the text, truncated for use in an event message."""
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}..."
