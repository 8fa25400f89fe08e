"""The controller of CronJobs. Each look removes Jobs that are over, writes down which go on, starts one if it is due, and makes an
appointment for when the next one is.

One that is being deleted starts none, but still removes and writes down. (CJ-10)
"""

from __future__ import annotations

from datetime import UTC, datetime

from probate.api.timestamps import timestamp
from probate.client.informers import Informer, Name, controller_of, name_of
from probate.client.objects import Client, Object, has_cause
from probate.client.resources import is_deleting
from probate.controllers.runtime import durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads.cronjobs import job_history, schedule
from probate.controllers.workloads.cronjobs.schedule import Plan
from probate.controllers.workloads.owner_kinds import CRON_JOB, JOB, namespace_of
from probate.core import errors
from probate.lib import cron
from probate.lib.cron import BadSchedule

COMPONENT = "cronjob-controller"
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
SKEWS = tuple(float(2**power) for power in range(10))
MOST_SHOWN = 200
LONGEST_SECONDS = 3600.0
"""Until a look even if nothing is due before: so that a clock that was set is noticed."""


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [CronJobs(means).workers]


class Draft:
    """What the CronJob says of itself after this look."""

    def __init__(self, cron_job: Object) -> None:
        self._before = cron_job.get("status") or {}
        self.active: list[Object] = list(self._before.get("active") or [])
        self.last_scheduled: str | None = self._before.get("lastScheduleTime")
        self.last_success: str | None = self._before.get("lastSuccessfulTime")

    def drop(self, uid: str) -> None:
        self.active = [one for one in self.active if one["uid"] != uid]

    def status(self) -> Object:
        said = {"active": self.active, "lastScheduleTime": self.last_scheduled, "lastSuccessfulTime": self.last_success}
        return {name: value for name, value in said.items() if value}

    @property
    def is_news(self) -> bool:
        return self.status() != self._before


class CronJobs:
    """The controller of CronJobs."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._tell = CRON_JOB.voice(means.events, COMPONENT)
        self._client: Client = means.client
        self._jobs: Informer = means.informers.of(JOB.resource)
        self._cron_jobs: Informer = means.informers.of(CRON_JOB.resource)
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        told = "How late Jobs were started."
        self._skew = means.metrics.histogram("cronjob_controller_job_creation_skew_duration_seconds", told, bounds=SKEWS)
        self._cron_jobs.listen(self._take_cron_job)
        self._jobs.listen(self._take_job)

    def _take_cron_job(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None:
            self.workers.add(name_of(one))

    def _take_job(self, old: Object | None, new: Object | None) -> None:
        for one in (old, new):
            reference = controller_of(one) if one is not None else None
            if one is None or reference is None:
                continue
            owner = CRON_JOB.find(self._cron_jobs, namespace_of(one), reference)
            if owner is not None:
                self.workers.add(name_of(owner))

    async def _sync(self, name: Name) -> float | None:
        cron_job = self._cron_jobs.get(name)
        if cron_job is None:
            return None
        draft = Draft(cron_job)
        kept = await self._remove_old(cron_job, draft)
        await self._take_stock(cron_job, draft)
        planned = self._plan(cron_job)
        failure: errors.ApiError | None = None
        if planned is not None and planned.due is not None:
            try:
                await self._start(cron_job, draft, planned.due, is_late=planned.is_late)
            except errors.ApiError as error:
                failure = error
        if draft.is_news:
            await self._cron_jobs.update({**cron_job, "status": draft.status()}, "status")
        if failure is not None or kept:
            raise ExceptionGroup(f"jobs of {name} could not be started or removed", [*kept, *([failure] if failure else [])])
        if planned is None or planned.next is None:
            return None
        return min(durations.until(planned.next.timestamp(), self._clock.now()), LONGEST_SECONDS)

    async def _remove_old(self, cron_job: Object, draft: Draft) -> list[errors.ApiError]:
        """Before anything else, so that Jobs that are over leave room for others. Returns what went wrong. (CJ-2, CJ-3)"""
        doomed = job_history.outdated(cron_job, self._jobs.controlled_by(cron_job["metadata"]["uid"]))
        tried = [await self._delete(cron_job, draft, job) for job in doomed if not is_deleting(job)]
        return [error for error in tried if error is not None]

    async def _delete(self, cron_job: Object, draft: Draft, job: Object) -> errors.ApiError | None:
        """Delete the job. One that cannot be deleted keeps nobody waiting. Returns why it could not. (CJ-6, CJ-8)"""
        name = job["metadata"]["name"]
        try:
            await self._jobs.delete(job, policy="Background")
        except errors.ApiError as error:
            self._tell(cron_job, "Warning", "FailedDelete", f"Job {name} could not be deleted: {error}")
            return error
        draft.drop(job["metadata"]["uid"])
        self._tell(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name}")
        return None

    async def _take_stock(self, cron_job: Object, draft: Draft) -> None:
        """Which jobs go on, and when one last ended well. (CJ-9)"""
        ours = {job["metadata"]["uid"]: job for job in self._jobs.controlled_by(cron_job["metadata"]["uid"])}
        listed = {one["uid"]: one for one in draft.active}
        for uid, job in ours.items():
            end, name = job_history.end_of(job), job["metadata"]["name"]
            if end and uid in listed:
                draft.drop(uid)
                self._tell(cron_job, "Normal", "SawCompletedJob", f"Saw completed job: {name}, condition: {end}")
            elif not end and uid not in listed and not is_deleting(job):
                told = f"Saw a job that the controller did not create or forgot: {name}"
                self._tell(cron_job, "Warning", "UnexpectedJob", told)
        for uid, one in listed.items():
            if uid not in ours and not await self._is_there(one, uid):
                draft.drop(uid)
                self._tell(cron_job, "Normal", "MissingJob", f"Active job went missing: {one['name']}")
        draft.last_success = job_history.last_success(draft.last_success, ours.values())

    async def _is_there(self, reference: Object, uid: str) -> bool:
        found = await self._client.get(JOB.resource, reference["namespace"], reference["name"])
        return found is not None and found["metadata"]["uid"] == uid

    def _plan(self, cron_job: Object) -> Plan | None:
        """What is due; None if nothing will be, as things are."""
        spec = cron_job["spec"]
        if is_deleting(cron_job):
            return None
        try:
            schedule.zone(cron_job)
        except BadSchedule as error:
            self._tell(cron_job, "Warning", "UnknownTimeZone", f'invalid timeZone: "{_shown(spec["timeZone"])}": {error}')
            return None
        if spec.get("suspend"):
            return None
        try:
            planned = schedule.plan(cron_job, self._clock.now())
        except BadSchedule as error:
            self._tell(cron_job, "Warning", "UnparseableSchedule", f'unparseable schedule: "{_shown(spec["schedule"])}" : {error}')
            return None
        if cron.has_zone(spec["schedule"]):
            told = f'the schedule "{_shown(spec["schedule"])}" names a time zone: use spec.timeZone instead'
            self._tell(cron_job, "Warning", "UnsupportedSchedule", told)
        return planned

    async def _start(self, cron_job: Object, draft: Draft, due: datetime, *, is_late: bool) -> None:
        policy = cron_job["spec"].get("concurrencyPolicy")
        if is_late:
            told = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._tell(cron_job, "Warning", "TooManyMissedTimes", told)
        if policy == "Forbid" and draft.active:
            told = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell(cron_job, "Normal", "JobAlreadyActive", told)
            return
        if policy == "Replace":
            for one in draft.active:
                job = self._jobs.get(Name(one["namespace"], one["name"]))
                if job is None or job["metadata"]["uid"] != one["uid"]:
                    continue
                failure = await self._delete(cron_job, draft, job)
                if failure is not None:
                    raise failure
        made = await self._create(cron_job, due)
        if made is not None:
            draft.active = [*(one for one in draft.active if one["uid"] != made["metadata"]["uid"]), _reference(made)]
        draft.last_scheduled = timestamp(due.timestamp())

    async def _create(self, cron_job: Object, due: datetime) -> Object | None:
        """The job for that time, made now or before; None if it is over already."""
        try:
            made = await self._jobs.create(namespace_of(cron_job), new_job(cron_job, due))
        except errors.AlreadyExists:
            return await self._met(cron_job, due)
        except errors.ApiError as error:
            if not has_cause(error, "NamespaceTerminating"):
                self._tell(cron_job, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        self._skew.observe((), max(0.0, self._clock.now() - due.timestamp()))
        self._tell(cron_job, "Normal", "SuccessfulCreate", f"Created job {made['metadata']['name']}")
        return made

    async def _met(self, cron_job: Object, due: datetime) -> Object | None:
        """Something of that name is there: ours, made before this could be written down, or somebody else's."""
        there = await self._client.get(JOB.resource, namespace_of(cron_job), job_name(cron_job, due))
        if there is None:
            raise errors.Conflict(f"{job_name(cron_job, due)} is on its way out")
        if (controller_of(there) or {}).get("uid") != cron_job["metadata"]["uid"]:
            told = f"Error creating job: {job_name(cron_job, due)} is there, and is somebody else's"
            self._tell(cron_job, "Warning", "FailedCreate", told)
            return None
        return None if job_history.end_of(there) else there


def _shown(text: str) -> str:
    """As much of a text as a message has of it."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def job_name(cron_job: Object, due: datetime) -> str:
    """The same for the same time: so no time has two jobs. (CJ-11)"""
    return f"{cron_job['metadata']['name']}-{int(due.timestamp()) // 60}"


def new_job(cron_job: Object, due: datetime) -> Object:
    """The job for that time."""
    template = cron_job["spec"]["jobTemplate"]
    described = template.get("metadata") or {}
    when = due.isoformat(timespec="seconds")
    meta = {
        "name": job_name(cron_job, due),
        "labels": described.get("labels") or {},
        "annotations": {**(described.get("annotations") or {}), SCHEDULED: when.replace("+00:00", "Z") if _is_utc(due) else when},
        "ownerReferences": [CRON_JOB.reference(cron_job)],
    }
    return {"metadata": meta, "spec": template["spec"]}


def _is_utc(moment: datetime) -> bool:
    return moment.utcoffset() == UTC.utcoffset(None)


def _reference(job: Object) -> Object:
    meta = job["metadata"]
    named = {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion")}
    return {"apiVersion": JOB.resource.api_version, "kind": JOB.name, **named}
